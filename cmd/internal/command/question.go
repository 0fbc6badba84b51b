package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/cmd/internal/terminal"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// question is a command that asks a package of tools.
type question struct {
	use, short, long string
	examples         [2]string // a line that says what the next line does, and a command line without the name of the program
	flags            func() *flag.FlagSet
	run              func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
	program          string            // its name, with which its errors begin
	hidden           []string          // flags of the program that the command does not have
	usage            map[string]string // in other words than the program's
	args             cobra.PositionalArgs
	complete         Kind            // of the arguments
	completeFlags    map[string]Kind // of values of flags
	forms            []string        // of output besides those of all commands
	names            []string        // where the JSON answer has the names of -o name; see namesOf
	namespaced       bool            // without -n and -A the answer is about the context's namespace
	need             func(a *asked) Need
	more             func(a *asked) error // adds what the arguments stand for
	dumps            func(q *question)    // changes what is otherwise without a cluster
}

// asked is a question with its arguments.
type asked struct {
	*global
	question
	ctx       context.Context
	names     []string // the positional arguments
	namespace string   // of names without one
	given     []string // flags for the program
	cleanup   []func()
	argument  string // the program's flag that gets the command's argument: "-explain"
}

// common are the flags that every command has in its own way.
var common = []string{"f", "o", "n", "v", "no-headers", "max-size", "version", "h"}

// recorder is a flag of the command line that keeps what it is given for the program.
type recorder struct {
	flag  *flag.Flag
	given *[]string
	kind  string
}

func (r *recorder) String() string {
	if r.flag == nil || !program.ShowsDefault(r.flag) {
		return ""
	}
	return r.flag.DefValue
}

func (r *recorder) Type() string { return r.kind }

func (r *recorder) Set(text string) error {
	*r.given = append(*r.given, "-"+r.flag.Name+"="+text)
	return nil
}

// command makes the command of a question.
func (g *global) command(q question) *cobra.Command {
	if g.Cluster == nil && q.dumps != nil {
		q.dumps(&q)
	}
	var given []string
	c := &cobra.Command{
		Use: q.use, Short: q.short, Long: q.short + ".\n\n" + q.long, Args: arguments(q.args),
		Example:           g.examples(q.examples),
		ValidArgsFunction: g.completer(q.complete),
	}
	f := c.Flags()
	q.flags().VisitAll(func(x *flag.Flag) {
		if slices.Contains(common, x.Name) || slices.Contains(q.hidden, x.Name) && (x.Name != strict || g.Cluster != nil) {
			return
		}
		told := *x
		if text := q.usage[x.Name]; text != "" {
			told.Usage = text
		}
		kind, usage := flag.UnquoteUsage(&told)
		r := &recorder{x, &given, kind}
		long, short := x.Name, ""
		if len(long) == 1 {
			long, short = "selector", x.Name
		}
		added := f.VarPF(r, long, short, dashes(usage, q.flags()))
		if b, ok := x.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			added.NoOptDefVal = "true"
			r.kind = "bool"
		}
	})
	forms := append([]string{"table", "wide", "json", "yaml", "name"}, q.forms...)
	f.StringVarP(&g.output, "output", "o", "table", "output in this `FORM`: "+strings.Join(forms, ", "))
	if err := c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
	for name, kind := range q.completeFlags {
		if err := c.RegisterFlagCompletionFunc(name, g.completer(kind)); err != nil {
			panic(err) // the flag is there
		}
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(forms, g.output) {
			return fmt.Errorf("-o: Unsupported value: %q: supported values: %s", g.output, strings.Join(forms, ", "))
		}
		a := &asked{global: g, question: q, ctx: c.Context(), names: args, given: given}
		defer a.done()
		return a.answer()
	}
	return c
}

// arguments lets an error about the arguments point to the help.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	if check == nil {
		return nil
	}
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
		}
		return nil
	}
}

// dashes writes the flags of a program in a text with two dashes.
func dashes(text string, flags *flag.FlagSet) string {
	return oneDash.ReplaceAllStringFunc(text, func(word string) string {
		before, name, _ := strings.Cut(word, "-")
		if flags.Lookup(name) == nil {
			return word
		}
		return before + "--" + name
	})
}

func (a *asked) done() {
	for _, f := range a.cleanup {
		f()
	}
}

// answer reads the input, asks the program and writes the answer.
func (a *asked) answer() error {
	of, shown, err := a.namespaces(a.verb())
	if err != nil {
		return err
	}
	a.namespace = of
	if a.global.namespace != "" || a.namespaced && shown != "" {
		a.given = append(a.given, "-n="+shown)
	}
	if a.more != nil {
		if err := a.more(a); err != nil {
			return err
		}
	}
	stdin, err := a.input()
	if err != nil {
		return err
	}
	return a.write(stdin)
}

// input adds the flags about the input and returns the standard input of the program.
func (a *asked) input() (in io.Reader, err error) {
	if a.maxSize != "" {
		a.given = append(a.given, "-max-size="+a.maxSize)
	}
	if a.verbose {
		a.given = append(a.given, "-v")
	}
	if len(a.files) > 0 {
		for _, path := range a.files {
			a.given = append(a.given, "-f="+path)
		}
		return a.stdin, nil
	}
	need := Need{}
	if a.need != nil {
		need = a.need(a)
	}
	a.given = append(a.given, "-f=-")
	if need.MaxSize, err = a.mostBytes(); err != nil {
		return nil, err
	}
	return a.read(a.ctx, need)
}

// mostBytes returns the value of --max-size; 0 when it is not given.
func (g *global) mostBytes() (int64, error) {
	if g.maxSize == "" {
		return 0, nil
	}
	n, err := dump.ParseSize(g.maxSize)
	if err != nil {
		return 0, fmt.Errorf("--max-size: Invalid value: %q: %w", g.maxSize, err)
	}
	return n, nil
}

// read reads the cluster and says on standard error how far it is and what it leaves out.
func (g *global) read(ctx context.Context, need Need) (io.Reader, error) {
	in, warnings, err := g.Cluster.Read(ctx, need, g.stderr)
	for _, text := range warnings {
		report.Textf(g.stderr, "warning: %s\n", text)
	}
	return in, err
}

// write asks the program and writes its answer in the form of -o.
func (a *asked) write(stdin io.Reader) error {
	errs := &messages{asked: a}
	defer errs.end()
	switch form := a.output; {
	case form == "name":
		var data bytes.Buffer
		code := a.run(a.ctx, append(a.given, "-o=json"), stdin, &data, errs)
		if data.Len() > 0 {
			names, err := namesOf(data.Bytes(), a.question.names)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(a.stdout, names); err != nil {
				return err
			}
		}
		return codeOf(code)
	case report.IsData(form) || slices.Contains(a.forms, form):
		return codeOf(a.run(a.ctx, append(a.given, "-o="+form), stdin, a.stdout, errs))
	}
	width := a.width
	args := a.given
	if a.output == "wide" {
		width = 0
		if a.question.wide() {
			args = append(args, "-o=wide")
		}
	} else if a.verb() == "why" {
		args = append(args, "-brief")
	}
	if a.bare {
		args = append(args, "-no-headers")
	}
	out := terminal.New(a.stdout, width, terminal.Environment)
	code := a.run(a.ctx, args, stdin, out, errs)
	if err := out.Flush(); err != nil {
		return err
	}
	return codeOf(code)
}

// verb returns the name of the command.
func (q *question) verb() string { return strings.Fields(q.use)[0] }

// examples returns command lines of the program. Without a cluster each names a dump.
func (g *global) examples(of [2]string) string {
	var b strings.Builder
	for _, text := range of {
		about, line, _ := strings.Cut(text, "\n")
		if g.Cluster == nil && !strings.Contains(line, " -f ") {
			line += " -f cluster.yaml"
		}
		fmt.Fprintf(&b, "  # %s\n  %s %s\n", about, g.Name, line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// wide reports whether the program has the form wide for this question. Of other programs the wide table is the whole table.
func (q *question) wide() bool { return q.verb() == "place" }

func codeOf(code int) error {
	if code == 0 {
		return nil
	}
	return exit(code)
}
