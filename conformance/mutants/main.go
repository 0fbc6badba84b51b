// Command mutants asks whether the tests of a package notice mistakes. It finds places in the package's source where one
// small change makes a mistake, compiles all these mutations into one test binary, and runs the binary once for each: a
// variable that is read from the environment at start says which mutation is on. Mutations that no test notices are listed.
//
//	go run ./mutants -packages filter,score -sample 60     // 60 mutations of each package
//	go run ./mutants -packages all -sample 0               // every mutation of every package
//	go run ./mutants -packages filter -sample 0 -functions '^Fit' -tests TestFit   // of some functions, with some tests
//	go run ./mutants -packages filter -sample 0 -operators 'sibling|share|component|early|arm'   // mistakes that people make
//	go run ./mutants -packages scheduler -sample 0 -operators lock   // mutexes that are not locked, with the race detector
//	go run ./mutants -packages filter -equivalent          // a million executions of each mutation of equivalent/filter.txt
//	go run ./mutants -packages filter -rows                // a mutation that the test of each row of docs/fidelity notices
//	go run ./mutants -packages filter -rows -from tools/place,conformance/live   // the same for rows with tests of other packages
//	go run ./mutants -packages diagnose -rows -ids 'G1[.].*'   // of these rows
//	go run ./mutants -byhand .                             // the rows that have a mistake made by hand, in byhand.txt
//	go run ./mutants -packages library -rows -most 16   // 16 rows of the packages with which the seed begins
//
// The packages are folders of the repository; "library" and "programs" name all of a kind, "all" both. Only the package's own
// tests run, for devices also those of devices/cel, and of those only the tests that reach the function. A sample has the same number of mutations of each operator
// as far as there are as many. The same seed draws the same sample; without the flag the seed is the hash of the commit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

type settings struct {
	sample     int
	seed       int64
	least      float64
	budget     time.Duration
	keep       string
	functions  *regexp.Regexp // nil: all
	operators  *regexp.Regexp // nil: all
	tests      *regexp.Regexp // nil: all
	list       bool
	equivalent bool
	longest    time.Duration
	write      bool
	rows       bool
	most       int            // rows to look at; 0: all
	from       []string       // folders of the tests for rows; nil: those of the package
	ids        *regexp.Regexp // rows to look at; nil: all
}

func main() {
	var s settings
	packages := flag.String("packages", "library", "folders, separated by commas, or library, programs, all")
	flag.IntVar(&s.sample, "sample", 60, "mutations of each package; 0: all; -rows takes all")
	flag.Int64Var(&s.seed, "seed", 0, "seed of the sample; 0: the hash of the commit")
	flag.Float64Var(&s.least, "least", 0, "fail when the tests of a package notice less than this percentage")
	flag.DurationVar(&s.budget, "budget", 0, "begin no further package after this time, with -equivalent no further fuzz target of a package; 0: no limit")
	flag.StringVar(&s.keep, "keep", "", "folder to keep the changed source and the test binaries in")
	flag.BoolVar(&s.list, "list", false, "print the mutations and run nothing")
	flag.BoolVar(&s.equivalent, "equivalent", false, "execute the mutations of the folder equivalent a million times")
	flag.BoolVar(&s.write, "write", false, "with -equivalent: go on from the numbers of executions in the folder equivalent, and write the new ones")
	flag.DurationVar(&s.longest, "for", 10*time.Minute, "longest time of a fuzz target for -equivalent")
	flag.BoolVar(&s.rows, "rows", false, "print for each row of docs/fidelity a mutation that its test notices")
	flag.IntVar(&s.most, "most", 0, "with -rows: look at so many rows, beginning with another package for every seed, and fail when the tests of one notice nothing; 0: all rows")
	hand := flag.String("byhand", "", "make the mistakes of byhand.txt for the rows that this expression matches")
	from := flag.String("from", "", "with -rows: the rows whose tests are in these folders, separated by commas, in the place of those of the package")
	ids := flag.String("ids", "", "with -rows: the rows that this expression matches as a whole")
	functions := flag.String("functions", "", "mutations of the functions that this expression matches, as Type.Method or Function")
	operators := flag.String("operators", "", "mutations of the operators that this expression matches; people make those of `sibling|share|component|early|arm`")
	tests := flag.String("tests", "", "run the tests that this expression matches")
	flag.Parse()
	for text, to := range map[*string]**regexp.Regexp{functions: &s.functions, operators: &s.operators, tests: &s.tests} {
		var err error
		if *to, err = regexp.Compile(*text); err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(2)
		}
	}
	var err error
	if s.ids, err = regexp.Compile("^(?:" + *ids + ")$"); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if *ids == "" {
		s.ids = nil
	}
	if *hand != "" {
		if err := runByHand(*hand); err != nil {
			fmt.Fprintln(os.Stderr, "mutants:", err)
			os.Exit(1)
		}
		return
	}
	if *from != "" {
		s.from = strings.Split(*from, ",")
	}
	if err := run(*packages, s); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func runByHand(expression string) error {
	rows, err := regexp.Compile(expression)
	if err != nil {
		return err
	}
	root, err := repository()
	if err != nil {
		return err
	}
	return checkByHand(root, rows)
}

func run(packages string, s settings) error {
	root, err := repository()
	if err != nil {
		return err
	}
	if s.seed == 0 {
		if s.seed, err = commitSeed(root); err != nil {
			return err
		}
	}
	folders, err := expand(root, packages)
	if err != nil {
		return err
	}
	if len(folders) > 0 && (s.budget > 0 || s.most > 0) { // every commit begins with another package
		k := int(s.seed % int64(len(folders)))
		folders = slices.Concat(folders[k:], folders[:k])
	}
	if !s.list && !s.equivalent {
		fmt.Printf("seed %d\n\n", s.seed)
	}
	var errs []error
	var reports []report
	rows, left := s.most > 0, s.most
	for begin := time.Now(); len(folders) > 0 && (!rows || left > 0) && (s.budget == 0 || s.equivalent || time.Since(begin) < s.budget); folders = folders[1:] {
		if rows {
			s.most = left
		}
		r, err := s.examine(root, folders[0])
		left -= r.rows
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", folders[0], err))
			continue
		}
		if r.tried > 0 {
			reports = append(reports, r)
		}
		if r.rate() < s.least {
			errs = append(errs, fmt.Errorf("%s: the tests notice %.0f %% of the mutations, less than %g %%", folders[0], r.rate(), s.least))
		}
	}
	printTable(reports)
	return errors.Join(errs...)
}

// repository returns the folder of the repository.
func repository() (string, error) {
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	return strings.TrimSpace(string(out)), err
}

// commitSeed returns the first 15 digits of the commit's hash as a number.
func commitSeed(root string) (int64, error) {
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(out[:15]), 16, 64)
}

// kinds has the published modules of each kind.
var kinds = map[string][]string{
	"library":  {"./...", "./devices/cel/..."},
	"programs": {"./scheduler/...", "./scheduler/live/...", "./tools/...", "./cmd/..."},
}

// expand returns the folders that the flag names, those of the published modules for "library", "programs" and "all".
func expand(root, packages string) ([]string, error) {
	patterns := kinds[packages]
	if packages == "all" {
		patterns = slices.Concat(kinds["library"], kinds["programs"])
	}
	if patterns == nil {
		return strings.Split(packages, ","), nil
	}
	out, err := goCommand(root, append([]string{"list", "-f", "{{if .GoFiles}}{{.Dir}}{{end}}"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var folders []string
	for dir := range strings.Lines(string(out)) {
		folder, err := filepath.Rel(root, strings.TrimSpace(dir))
		if err != nil {
			return nil, err
		}
		if folder != "." && !slices.ContainsFunc(helps, func(h string) bool { return within(folder, h) }) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// within reports whether a folder is another one or below it.
func within(folder, of string) bool { return folder == of || strings.HasPrefix(folder, of+"/") }

// helps has the folders of demos and of packages that help tests. Their statements are no part of the library.
var helps = []string{"examples", "scheduler/live/internal/apitest", "internal/testkit", "tools/internal/schema"}

// conformance is the folder of this tool's module, which is no part of the workspace.
const conformance = "conformance"

// goCommand runs the go command. This tool runs without the workspace, the tests in it, but for those of its own module.
func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	work := "GOWORK="
	if filepath.Base(dir) == conformance {
		work = "GOWORK=off"
	}
	cmd.Env = append(os.Environ(), work)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go %s: %s%s", strings.Join(args[:min(2, len(args))], " "), exit.Stderr, out)
	}
	return out, err
}
