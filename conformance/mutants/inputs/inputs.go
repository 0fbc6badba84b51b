// Package inputs gives fuzz targets inputs that run the places of mutations often. The tool puts it beside the tests of the mutated
// package. It takes a tenth of the fuzzing engine's time for an input.
package inputs

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podberth/podberth/conformance/mutants/switches"
)

// Plan says what a target gets beside its own inputs. It is the JSON of PODBERTH_MUTANT_INPUTS.
type Plan struct {
	For    time.Duration // no longer than so long
	Seed   uint64
	Left   []Left
	Failed string // the file for an input that fails
	Again  bool   // the input of that file and no other
}

// Left says how often a place, kind "m", or function, kind "f", is to run.
type Left struct {
	Kind  string
	K     int
	Times int64
}

var added int

// Add is testing.F.Add.
func Add(f *testing.F, args ...any) {
	added++
	f.Add(args...)
}

// Fuzz is testing.F.Fuzz. After the target's own inputs come those of the plan.
func Fuzz(f *testing.F, check any) {
	text := os.Getenv("PODBERTH_MUTANT_INPUTS")
	if text == "" {
		f.Fuzz(check)
		return
	}
	g := generator{check: reflect.ValueOf(check)}
	if err := json.Unmarshal([]byte(text), &g.plan); err != nil {
		f.Fatal(err)
	}
	g.random = rand.New(rand.NewPCG(g.plan.Seed, 1))
	for _, left := range g.plan.Left {
		g.wanted = append(g.wanted, &wanted{counter: switches.Counter(left.Kind, left.K), times: left.Times})
	}
	if added == 0 {
		Add(f, values(g.fresh())...)
	}
	own := added
	added = 0
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", f.Name(), "*"))
	if err != nil {
		f.Fatal(err)
	}
	own += len(files)
	calls := 0
	f.Fuzz(reflect.MakeFunc(g.check.Type(), func(in []reflect.Value) []reflect.Value {
		t := in[0].Interface().(*testing.T)
		calls++
		passed := g.run(t, in[1:])
		if calls == own && passed {
			g.more(t)
		}
		return nil
	}).Interface())
	if calls < own && !f.Failed() && !f.Skipped() {
		f.Errorf("%d of %d inputs ran", calls, own)
	}
}

type input []reflect.Value

func values(in input) (out []any) {
	for _, v := range in {
		out = append(out, v.Interface())
	}
	return out
}

// wanted is a place that is to run often, with the inputs that run it most often in a second.
type wanted struct {
	counter *atomic.Int64
	times   int64
	before  int64
	best    [8]ranked
}

type ranked struct {
	in   input
	rate float64
}

type generator struct {
	check  reflect.Value
	plan   Plan
	random *rand.Rand
	wanted []*wanted
	gain   time.Time // of a wanted place
}

// more runs inputs until all wanted places have run often enough, the time is over, or no wanted place has run for a while.
func (g *generator) more(t *testing.T) {
	if g.plan.Again {
		in, err := g.read()
		if err != nil {
			t.Fatal(err)
		}
		g.run(t, in)
		return
	}
	const patience = 10 * time.Second
	begin := time.Now()
	for g.gain = begin; time.Since(begin) < g.plan.For && time.Since(g.gain) < patience; {
		open := g.open()
		if len(open) == 0 {
			return
		}
		if !g.run(t, g.next(open)) {
			return
		}
	}
}

// open returns the places that have not run often enough.
func (g *generator) open() (out []*wanted) {
	for _, w := range g.wanted {
		if w.counter.Load() < w.times {
			out = append(out, w)
		}
	}
	return out
}

// next makes an input: a fresh one, or one that is similar to one of the best of an open place.
func (g *generator) next(open []*wanted) input {
	w := open[g.random.IntN(len(open))]
	from := w.best[g.random.IntN(len(w.best))].in
	if from == nil || g.random.IntN(8) == 0 {
		return g.fresh()
	}
	other := w.best[g.random.IntN(len(w.best))].in
	if other == nil {
		other = from
	}
	return g.similar(from, other)
}

// run runs an input, and remembers it with the places that it runs often. An input that fails goes to the plan's file.
func (g *generator) run(t *testing.T, in input) bool {
	for _, w := range g.wanted {
		w.before = w.counter.Load()
	}
	begin := time.Now()
	passed := t.Run("", func(t *testing.T) {
		defer func() {
			if r := recover(); r != nil {
				t.Fatalf("%v\n%s", r, debug.Stack())
			}
		}()
		g.check.Call(append([]reflect.Value{reflect.ValueOf(t)}, in...))
	})
	now := time.Now()
	for _, w := range g.wanted {
		n := w.counter.Load()
		if n == w.before {
			continue
		}
		if n < w.times {
			g.gain = now
		}
		rate := float64(n-w.before) / float64(now.Sub(begin))
		least := 0
		for i := range w.best {
			if w.best[i].rate < w.best[least].rate {
				least = i
			}
		}
		if rate > w.best[least].rate {
			w.best[least] = ranked{in, rate}
		}
	}
	if !passed && !g.plan.Again {
		if err := g.write(in); err != nil {
			t.Error(err)
		}
	}
	return passed
}

// write keeps an input that fails, strings as bytes.
func (g *generator) write(in input) error {
	all := values(in)
	for i := range all {
		if s, ok := all[i].(string); ok {
			all[i] = []byte(s)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(g.plan.Failed, text, 0o600)
}

func (g *generator) read() (input, error) {
	text, err := os.ReadFile(g.plan.Failed)
	if err != nil {
		return nil, err
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, err
	}
	var in input
	for i, part := range parts {
		typ := g.check.Type().In(i + 1)
		to := typ
		if typ.Kind() == reflect.String {
			to = reflect.TypeFor[[]byte]()
		}
		v := reflect.New(to)
		if err := json.Unmarshal(part, v.Interface()); err != nil {
			return nil, err
		}
		in = append(in, v.Elem().Convert(typ))
	}
	return in, nil
}
