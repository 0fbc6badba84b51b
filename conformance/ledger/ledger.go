// Package ledger records the slices of a long run: which clusters were compared with which judge, and what came out. A run can
// stop after any slice and go on later with the seeds that come next.
package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Slice is a part of a long run.
type Slice struct {
	Release       string // of the judge
	Seed          int64  // of the first cluster
	Clusters      int64
	Comparisons   int64
	Disagreements int64
}

const form = "%s: seed %d, clusters %d, comparisons %d, disagreements %d"

func (s Slice) String() string {
	return fmt.Sprintf(form, s.Release, s.Seed, s.Clusters, s.Comparisons, s.Disagreements)
}

// Read returns the slices of a file, none for a file that does not exist. Empty lines and lines that begin with # are left out.
func Read(path string) (out []Slice, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, ":")
		s := Slice{Release: name}
		if _, err := fmt.Sscanf(rest, strings.TrimPrefix(form, "%s:"), &s.Seed, &s.Clusters, &s.Comparisons, &s.Disagreements); err != nil || s.String() != line {
			return nil, fmt.Errorf("%s:%d: %q is no slice", path, n, line)
		}
		out = append(out, s)
	}
	return out, lines.Err()
}

// Append adds a slice to a file.
func Append(path string, s Slice) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, s)
	return errors.Join(err, f.Close())
}

// Next returns the seed at which the next slice of a release begins, 1 for the first.
func Next(slices []Slice, release string) int64 {
	next := int64(1)
	for _, s := range slices {
		if s.Release == release {
			next = max(next, s.Seed+s.Clusters)
		}
	}
	return next
}

// Sum returns the slices of a release as one.
func Sum(slices []Slice, release string) (sum Slice) {
	sum.Release = release
	for _, s := range slices {
		if s.Release == release {
			sum.Clusters, sum.Comparisons, sum.Disagreements = sum.Clusters+s.Clusters, sum.Comparisons+s.Comparisons, sum.Disagreements+s.Disagreements
		}
	}
	return sum
}
