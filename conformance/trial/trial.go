// Package trial plays many random cases and reports the first that fails, made small.
//
// A case is a string of bytes: everything random is read from it, and a byte past its end is zero, which makes the
// plainest choice. So a failing case is made small by leaving bytes out and setting them to zero, without knowing what
// they mean. The number of cases and the seed are flags of the test binary:
//
//	go test ./queue/                                    # short
//	go test ./queue/ -run Traces -args -clusters 100000 -seed 7
package trial

import (
	"fmt"
	"math/rand"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/podberth/podberth/conformance/gen"
)

// The flags -clusters and -seed are those of the whole module: here the number of cases of every test.
var clusters, seed = gen.Clusters, gen.Seed

// Long reports whether a number of cases was asked for.
func Long() bool { return *clusters > 0 }

// Source gives out the choices of one case and collects its story.
type Source struct {
	data  []byte
	story []string
	tally map[string]int
}

// NewSource returns a source over the bytes.
func NewSource(data []byte) *Source { return &Source{data: data, tally: map[string]int{}} }

// Again returns a source that makes the same choices as s will, with a story and counts of its own.
func (s *Source) Again() *Source { return NewSource(s.data) }

// Become takes over the story and the counts of another play.
func (s *Source) Become(o *Source) { *s = *o }

// More reports whether there are bytes left.
func (s *Source) More() bool { return len(s.data) > 0 }

// N returns a number from 0 to n-1; n is at most 65536.
func (s *Source) N(n int) int {
	v := s.next()
	if n > 256 {
		v = v<<8 | s.next()
	}
	return v % n
}

func (s *Source) next() int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b)
}

// Once in n is true; never when the bytes are at their end.
func (s *Source) Once(n int) bool { return s.N(n) == n-1 }

// Pick returns one of the values, the first when the bytes are at their end.
func Pick[T any](s *Source, values ...T) T { return values[s.N(len(values))] }

// Note adds a line to the story that is printed when the case fails.
func (s *Source) Note(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf(format, args...))
}

// Count notes that something happened.
func (s *Source) Count(what string) { s.tally[what]++ }

// Play is one case; it returns what went wrong.
type Play func(s *Source) error

// Run plays short cases (or the number that -clusters asks for) of up to size bytes each. Every name in must has to have been
// counted: at least once in the short mode, at least 100 times when there are 10,000 cases or more. With -short a failing case
// is not made small. Run returns how often each name was counted, and the number of cases.
func Run(t *testing.T, short, size int, play Play, must ...string) (tally map[string]int, n int) {
	t.Helper()
	n = short
	if Long() {
		n = *clusters
	}
	begin := time.Now()
	tally = map[string]int{}
	for i := range n {
		s := NewSource(bytesOf(*seed+int64(i), size))
		if err := safely(play, s); err != nil {
			if testing.Short() {
				t.Fatalf("seed %d: %v", *seed+int64(i), err)
			}
			t.Fatalf("seed %d (run again with -args -seed %d -clusters 1)\n%s", *seed+int64(i), *seed+int64(i), Shrink(play, bytesOf(*seed+int64(i), size)))
		}
		for k, v := range s.tally {
			tally[k] += v
		}
	}
	t.Logf("%d cases, seeds %d to %d, %v: no disagreement", n, *seed, *seed+int64(n)-1, time.Since(begin).Round(time.Millisecond))
	t.Log(lines(tally))
	need := 1
	if n >= 10_000 {
		need = 100
	}
	if n < short {
		return tally, n
	}
	for _, m := range must {
		if tally[m] < need {
			t.Errorf("%q happened %d times: the generator has a hole", m, tally[m])
		}
	}
	return tally, n
}

func bytesOf(seed int64, size int) []byte {
	r := rand.New(rand.NewSource(seed))
	data := make([]byte, size/4+r.Intn(size-size/4+1))
	r.Read(data)
	return data
}

func safely(play Play, s *Source) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return play(s)
}

// Shrink makes a failing case small and tells its story. It gives up after a minute.
func Shrink(play Play, data []byte) string {
	deadline := time.Now().Add(time.Minute)
	fails := func(d []byte) bool { return safely(play, NewSource(slices.Clone(d))) != nil }
	try := func(d []byte) bool {
		if time.Now().Before(deadline) && fails(d) {
			data = d
			return true
		}
		return false
	}
	for again := true; again; {
		again = false
		for span := len(data); span > 0; span /= 2 {
			for at := 0; at+span <= len(data); {
				if try(slices.Concat(data[:at], data[at+span:])) {
					again = true
				} else {
					at += span
				}
			}
		}
		for i := range data {
			for _, v := range []byte{0, data[i] / 2, data[i] - 1} {
				if v < data[i] {
					d := slices.Clone(data)
					d[i] = v
					again = try(d) || again
				}
			}
		}
		if time.Now().After(deadline) {
			break
		}
	}
	s := NewSource(slices.Clone(data))
	err := safely(play, s)
	return fmt.Sprintf("%s\n%v\nbytes %v", strings.Join(s.story, "\n"), err, data)
}

func lines(tally map[string]int) string {
	var out []string
	for k, v := range tally {
		out = append(out, fmt.Sprintf("%9d %s", v, k))
	}
	sort.Slice(out, func(i, j int) bool { return out[i][10:] < out[j][10:] })
	return "what happened:\n" + strings.Join(out, "\n")
}
