package main

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report says how the tests of one package did.
type report struct {
	folder                             string
	found, tried, noticed, equivalents int
	rows                               int // looked at, with -rows
	seconds                            float64
}

func (r report) rate() float64 {
	if r.tried == 0 {
		return 100
	}
	return 100 * float64(r.noticed) / float64(r.tried)
}

// examine tries the mutations of one package.
func (s settings) examine(root, folder string) (report, error) {
	begin := time.Now()
	r := report{folder: folder}
	if s.rows && s.most > 0 { // many packages have no tests of rows
		if tests, err := rowTests(root, folder, s.ids); err != nil || len(tests) == 0 {
			return r, err
		}
	}
	known, err := knownEquivalents(folder)
	if err != nil {
		return r, err
	}
	u, err := load(root, folder)
	if err != nil {
		return r, err
	}
	all := u.find()
	list, alike, err := split(folder, all, known)
	if err != nil {
		return r, err
	}
	r.found = len(all)
	if s.equivalent {
		list = nil
	}
	for _, e := range alike {
		switch {
		case s.equivalent:
			list = append(list, e.mutation)
		case e.ran < enough: // not shown to be equivalent, so it counts
			e.mutation.never = false
			list = append(list, e.mutation)
		default:
			r.equivalents++
		}
	}
	list = slices.DeleteFunc(list, func(m *mutation) bool { return !matches(s.functions, m.function) || !s.tries(m.operator) })
	if !s.equivalent && !s.rows { // the tests of a row reach few functions, of which a sample may have nothing
		list = sample(list, s.sample, s.seed, folder)
	}
	if list, err = u.compilable(list); err != nil || len(list) == 0 {
		return r, err
	}
	if s.list {
		for _, m := range list {
			fmt.Println(m)
		}
		return r, nil
	}
	dir := s.keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "podberth-mutants-"); err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
	}
	var binaries []*binary
	tested := append([]string{folder}, beside[folder]...)
	if s.equivalent {
		tested = append(tested, fuzzed[folder]...)
	}
	if s.rows && s.from != nil {
		tested = s.from
	} else if s.rows && s.most > 0 { // rows that tests of another package have may be about that package
		tested = slices.DeleteFunc(tested, func(with string) bool { return !within(with, folder) })
	}
	for _, with := range tested {
		b, err := u.build(filepath.Join(dir, strings.ReplaceAll(with, "/", "-")), list, with)
		if err != nil {
			return r, err
		}
		if b != nil {
			b.inputsOnly = slices.Contains(fuzzed[folder], with)
			binaries = append(binaries, b)
		}
	}
	if len(binaries) == 0 {
		return r, nil
	}
	ids := functions(list)
	if s.equivalent {
		x := executer{binaries: binaries, ids: ids, longest: s.longest, seed: uint64(s.seed), ran: map[string]int{}}
		if s.budget > 0 {
			x.end = begin.Add(s.budget)
		}
		if s.write {
			for _, e := range known {
				x.ran[e.key] = e.ran
			}
		}
		err := x.million(folder, alike)
		if s.write {
			err = errors.Join(err, writeEquivalents(root, folder, known, x.ran))
		}
		return r, err
	}
	if s.rows {
		r.rows, err = checkRows(root, folder, binaries, list, ids, s)
		return r, err
	}
	for _, b := range binaries {
		if err := b.measure(len(ids), s.tests); err != nil {
			return r, err
		}
	}
	for _, m := range list {
		noticed, reached := false, 0
		for _, b := range binaries {
			if noticed {
				break
			}
			reach := b.reach[ids[[2]string{m.file.path, m.function}]]
			reached += len(reach)
			if noticed, err = b.try(m.number, reach); err != nil {
				return r, err
			}
		}
		r.tried++
		if noticed {
			r.noticed++
		} else if reached == 0 {
			fmt.Printf("survived  %s (no test runs the function)\n", m)
		} else {
			fmt.Printf("survived  %s\n", m)
		}
	}
	r.seconds = time.Since(begin).Seconds()
	return r, nil
}

func printTable(reports []report) {
	if len(reports) == 0 {
		return
	}
	fmt.Printf("\n| package | mutations | equivalent | tried | noticed | share | seconds |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	sum := report{folder: "all"}
	for _, r := range reports {
		r.print()
		sum.found, sum.tried, sum.noticed = sum.found+r.found, sum.tried+r.tried, sum.noticed+r.noticed
		sum.equivalents, sum.seconds = sum.equivalents+r.equivalents, sum.seconds+r.seconds
	}
	if len(reports) > 1 {
		sum.print()
	}
}

func (r report) print() {
	fmt.Printf("| %s | %d | %d | %d | %d | %.0f %% | %.0f |\n", r.folder, r.found, r.equivalents, r.tried, r.noticed, r.rate(), r.seconds)
}

// sample draws n mutations, from each operator as many while there are some; 0 takes all.
func sample(list []*mutation, n int, seed int64, folder string) []*mutation {
	if n == 0 || n >= len(list) {
		return list
	}
	h := fnv.New64a()
	h.Write([]byte(folder))
	rng := rand.New(rand.NewSource(seed ^ int64(h.Sum64())))
	operators := map[string][]*mutation{}
	for _, m := range list {
		operators[m.operator] = append(operators[m.operator], m)
	}
	names := slices.Sorted(maps.Keys(operators))
	for _, name := range names {
		of := operators[name]
		rng.Shuffle(len(of), func(i, k int) { of[i], of[k] = of[k], of[i] })
	}
	var out []*mutation
	for k := 0; len(out) < n; k++ {
		name := names[k%len(names)]
		if of := operators[name]; len(of) > 0 {
			out, operators[name] = append(out, of[0]), of[1:]
		}
	}
	slices.SortStableFunc(out, func(a, b *mutation) int {
		return cmp.Or(strings.Compare(a.file.path, b.file.path), a.line-b.line)
	})
	return out
}

// beside has the folders with more tests of a package: tests that need what the package itself must not import, and for
// internal packages without tests those of the packages that use them.
var beside = map[string][]string{
	"devices":                  {"devices/cel"},
	"diagnose":                 {"tools/place"}, // its cases are dumps, which the library does not read
	"internal/apiserver":       {"admission"},
	"internal/balance":         {"score"},
	"internal/engine":          {"affinity", "volumes"},
	"internal/hints":           {"devices"},
	"internal/same":            {"taints", "admission"},
	"internal/podkey":          {"placement", "taints", "affinity", "spread", "score", "volumes", "devices"},
	"placement/internal/hooks": {"placement"},
	"placement/internal/reuse": {"placement"},
}

// fuzzed has the folders whose fuzz targets run packages that have none of their own.
var fuzzed = map[string][]string{
	"affinity":        {"placement"},
	"tools/profile":   {"scheduler/config"},
	"internal/key":    {"placement"},
	"diagnose/near":   {"spread"},
	"release/plugins": {"placement"},
	"internal/same":   {"spread", "placement"},
	"internal/view":   {"placement"},
	"resources":       {"overhead", "filter", "cluster"},
}

// binary is a test binary with all mutations of a sample in it.
type binary struct {
	path, dir string
	folder    string
	tests     []test
	reach     [][]int // by function, the tests that run it
	inputs    string  // the plan of a fuzz target

	inputsOnly bool // fuzz targets run, tests do not
}

type test struct {
	name string
	took time.Duration // of processor time
}

// build compiles the tests of a folder with the mutations, nil for a folder without tests.
func (u *unit) build(dir string, list []*mutation, folder string) (*binary, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	replace := map[string]string{}
	texts := u.rewrite(list)
	if err := u.addHelpers(texts, folder); err != nil {
		return nil, err
	}
	for path, text := range texts {
		to := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return nil, err
		}
		replace[filepath.Join(u.root, path)] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o644); err != nil {
		return nil, err
	}
	b := &binary{path: filepath.Join(dir, "tests"), folder: folder, dir: filepath.Join(u.root, folder)}
	args := []string{"test", "-c", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o", b.path}
	if list[0].operator == lock {
		args = append(args, "-race")
	}
	module, below := u.root, folder
	if rest, ok := strings.CutPrefix(folder, conformance+"/"); ok {
		module, below = filepath.Join(u.root, conformance), rest
	}
	if _, err := goCommand(module, append(args, "./"+below)...); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, nil
}

//go:embed switches/switches.go
var switchesSource []byte

//go:embed inputs
var inputsSource embed.FS

// addHelpers adds what the changed files call. In the tests, fuzz targets call the package inputs.
func (u *unit) addHelpers(texts map[string][]byte, folder string) error {
	mod, err := os.ReadFile(filepath.Join(u.root, "go.mod"))
	if err != nil {
		return err
	}
	module := string(moduleClause.FindSubmatch(mod)[1])
	texts[u.folder+"/mutants_helpers.go"] = fmt.Appendf(nil, helpers, u.name, module)
	texts["internal/mutantswitches/switches.go"] = switchesSource
	sources, err := inputsSource.ReadDir("inputs")
	if err != nil {
		return err
	}
	for _, file := range sources {
		text, err := inputsSource.ReadFile("inputs/" + file.Name())
		if err != nil {
			return err
		}
		texts["internal/mutantinputs/"+file.Name()] = bytes.ReplaceAll(text,
			[]byte("github.com/podberth/podberth/conformance/mutants/switches"), []byte(module+"/internal/mutantswitches"))
	}
	files, err := filepath.Glob(filepath.Join(u.root, folder, "*_test.go"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte("f.Fuzz(")) {
			continue
		}
		name := string(packageClause.FindSubmatch(text)[1])
		text = bytes.ReplaceAll(text, []byte("f.Fuzz("), []byte("mutantFuzz(f, "))
		texts[folder+"/"+filepath.Base(path)] = bytes.ReplaceAll(text, []byte("f.Add("), []byte("mutantAdd(f, "))
		texts[folder+"/mutants_"+name+"_targets_test.go"] = fmt.Appendf(nil, targets, name, module)
	}
	return nil
}

var moduleClause = regexp.MustCompile(`(?m)^module (\S+)`)

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// run runs tests with a mutation and reports whether they pass. cpu is the processor time that they may take. A mutation may
// loop without end, wait without end, or ask for memory without end.
func (b *binary) run(mutant, hits string, cpu time.Duration, args ...string) (passed bool, took time.Duration, output []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second+2*cpu)
	defer cancel()
	memory := 8 << 20
	if strings.HasPrefix(b.folder, conformance+"/") {
		memory = 48 << 20 // the store of an API server maps 10 GB of which it touches little
	}
	limits := fmt.Sprintf(`ulimit -v %d; ulimit -t %d; exec "$0" "$@"`, memory, int(cpu.Seconds())+1)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limits, b.path}, args...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "PODBERTH_MUTANT="+mutant, "PODBERTH_MUTANT_HITS="+hits, "PODBERTH_MUTANT_INPUTS="+b.inputs)
	cmd.WaitDelay = time.Second
	output, err = cmd.CombinedOutput()
	if cmd.ProcessState != nil {
		took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) || ctx.Err() != nil {
		return false, took, output, nil
	}
	return err == nil, took, output, err
}

var testNames = regexp.MustCompile(`(?m)^(Test|Fuzz|Example)\w*$`)

// names returns the names of all tests, fuzz targets and examples.
func (b *binary) names() ([]string, error) {
	_, _, out, err := b.run("", "", time.Minute, "-test.list", ".")
	return testNames.FindAllString(string(out), -1), err
}

// measure runs each test alone: how long it takes and which functions it runs. A test that fails without a mutation takes no
// part, because it would notice everything.
func (b *binary) measure(functions int, tests *regexp.Regexp) error {
	names, err := b.names()
	if err != nil {
		return err
	}
	b.reach = make([][]int, functions)
	for _, name := range names {
		if !matches(tests, name) {
			continue
		}
		reached, passed, took, out, err := b.reaches("^" + name + "$")
		if err != nil {
			return err
		}
		if !passed {
			fmt.Printf("left out  %s: it fails without a mutation: %s\n", name, firstLine(out))
			continue
		}
		for k := range reached {
			b.reach[k] = append(b.reach[k], len(b.tests))
		}
		b.tests = append(b.tests, test{name, took})
	}
	return nil
}

// reaches runs tests without a mutation and returns the functions that they run.
func (b *binary) reaches(pattern string) (functions map[int]bool, passed bool, took time.Duration, output []byte, err error) {
	hits := b.path + ".hits"
	if err := os.Remove(hits); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, false, 0, nil, err
	}
	if passed, took, output, err = b.run("-1", hits, 10*time.Minute, "-test.run", pattern, "-test.short"); err != nil {
		return nil, false, 0, nil, err
	}
	_, runs, err := executions(hits)
	if err != nil {
		return nil, false, 0, nil, err
	}
	functions = map[int]bool{}
	for k := range runs {
		functions[k] = true
	}
	return functions, passed, took, output, nil
}

// tries reports whether the settings name an operator. Locks are tried alone: their tests run with the race detector, and others would be slow.
func (s settings) tries(operator string) bool {
	alone := s.operators != nil && s.operators.String() == lock
	return alone == (operator == lock) && matches(s.operators, operator)
}

func matches(e *regexp.Regexp, name string) bool { return e == nil || e.MatchString(name) }

func firstLine(out []byte) string {
	for line := range bytes.Lines(out) {
		if text := bytes.TrimSpace(line); len(text) > 0 && !bytes.HasPrefix(text, []byte("---")) && !bytes.HasPrefix(text, []byte("===")) {
			return string(text)
		}
	}
	return ""
}

// quick is how long a test may take that runs before the others.
const quick = 100 * time.Millisecond

// try runs the tests that reach a mutation, the quick ones first, and reports whether one of them fails.
func (b *binary) try(number int, reach []int) (noticed bool, err error) {
	for _, slow := range []bool{false, true} {
		var names []string
		limit := 2 * time.Second
		for _, k := range reach {
			if t := b.tests[k]; (t.took > quick) == slow {
				names = append(names, t.name)
				limit += 10 * t.took
			}
		}
		if len(names) == 0 {
			continue
		}
		passed, _, _, err := b.run(strconv.Itoa(number), "", limit, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.short")
		if err != nil || !passed {
			return !passed, err
		}
	}
	return false, nil
}
