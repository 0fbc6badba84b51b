package conformance

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

var seen = compare.NewTally()

// known_differences.txt has one line for each difference that is meant to be: the area, a part of the difference's text, and
// the reason, separated by " | ".
//
//go:embed known_differences.txt
var known string

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard())
	begin := time.Now()
	code := m.Run()
	if testing.Verbose() || *gen.Clusters > 0 || code != 0 {
		seen.Write(os.Stdout, time.Since(begin))
	}
	if *gen.Clusters > 0 && whole() {
		if err := complete(); err != nil {
			fmt.Println(err)
			if long() {
				code = 1
			}
		}
	}
	os.Exit(code)
}

// long reports whether this is the long mode. Smaller numbers of clusters are for trials.
func long() bool { return *gen.Clusters >= 100000 }

// whole reports whether all tests run.
func whole() bool {
	return flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
}

// complete returns what a run has not shown: too few clusters; a result that kube-scheduler produced too seldom for the
// number of clusters (100 times in the long mode); or a text of podberth that kube-scheduler never produced.
func complete() error {
	var errs []error
	if n := seen.Clusters(); n < int64(*gen.Clusters) {
		errs = append(errs, fmt.Errorf("%d clusters were generated, fewer than %d", n, *gen.Clusters))
	}
	least := int64(min(100, *gen.Clusters/2000))
	if holes := seen.Holes(least, compare.Expected); len(holes) > 0 {
		errs = append(errs, fmt.Errorf("produced fewer than %d times: the generator has holes\n  %s", least, strings.Join(holes, "\n  ")))
	}
	texts, err := reasons("..")
	if err != nil {
		return err
	}
	if missing := seen.Missing(texts); len(missing) > 0 {
		errs = append(errs, fmt.Errorf("podberth can say, kube-scheduler never said:\n  %s", strings.Join(missing, "\n  ")))
	}
	return errors.Join(errs...)
}

// sides are kept for each worker and profile, because starting a side takes as long as many comparisons.
func side(t *testing.T, p compare.Profile) *compare.Side {
	t.Helper()
	s, err := compare.New(context.Background(), p, seen)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func defaultProfile(t *testing.T) compare.Profile {
	t.Helper()
	p, err := compare.Default()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// isKnown reports whether a difference is on the list.
func isKnown(d compare.Difference) bool {
	for line := range strings.Lines(known) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) == 3 && !strings.HasPrefix(line, "#") && f[0] == d.Area && strings.Contains(d.Text, f[1]) {
			return true
		}
	}
	return false
}

func unknown(list []compare.Difference) (out []compare.Difference) {
	for _, d := range list {
		if !isKnown(d) {
			out = append(out, d)
		}
	}
	return out
}

// check compares one cluster on a worker's own side.
type check func(*compare.Side, *gen.Cluster) ([]compare.Difference, error)

// run compares n clusters with seeds from *gen.Seed on, on two workers.
func run(t *testing.T, n int, make func(seed int64) *gen.Cluster, p compare.Profile, f check) {
	t.Helper()
	runFrom(t, *gen.Seed, n, make, p, f)
}

func runFrom(t *testing.T, from int64, n int, make func(seed int64) *gen.Cluster, p compare.Profile, f check) {
	t.Helper()
	runOn(t, from, n, make, f, func() *compare.Side { return side(t, p) })
}

// runOn is runFrom with the sides that start makes, one for each worker.
func runOn(t *testing.T, from int64, n int, make func(seed int64) *gen.Cluster, f check, start func() *compare.Side) {
	t.Helper()
	const workers = 2
	var wg sync.WaitGroup
	var mu sync.Mutex
	reported := map[string]bool{}
	for k := range workers {
		s := start()
		wg.Go(func() {
			for i := k; i < n; i += workers {
				if testing.Short() && t.Failed() { // enough for those who only ask whether it fails
					return
				}
				seed := from + int64(i)
				c := make(seed)
				differences, err := f(s, c)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				bad := unknown(differences)
				seen.Case(t.Name(), seed, bad)
				if len(bad) == 0 {
					continue
				}
				mu.Lock()
				first := !reported[bad[0].Area]
				reported[bad[0].Area] = true
				mu.Unlock()
				if first { // one shrunk example of each area is enough to work with
					t.Errorf("seed %d: %s\n%s", seed, join(bad), shrunk(s, c, bad[0].Area, f))
				} else {
					t.Fail()
				}
			}
		})
	}
	wg.Wait()
}

// shrunk returns the smallest cluster that shows a difference of the same area, and the difference.
func shrunk(s *compare.Side, c *gen.Cluster, area string, f check) string {
	if testing.Short() {
		return "not shrunk in -short"
	}
	quiet := *s
	quiet.Seen = nil
	var last compare.Difference
	small := gen.Shrink(c, func(c *gen.Cluster) bool {
		differences, err := f(&quiet, c)
		if err != nil {
			return false
		}
		for _, d := range unknown(differences) {
			if d.Area == area {
				last = d
				return true
			}
		}
		return false
	})
	return fmt.Sprintf("smallest: %s\n%s", last, small.YAML())
}

func join(list []compare.Difference) string {
	var b strings.Builder
	for _, d := range list[:min(8, len(list))] {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}
