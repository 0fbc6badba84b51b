// Package command is the command line of podberth and of kubectl podberth. A command reads a dump or the cluster of a Source, asks a
// package of tools the question, and writes the answer for people. The tools decide; this package decides nothing.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// Program is a program that has the commands.
type Program struct {
	Name    string // as people type it: "kubectl podberth"
	Cluster Source // nil for a program that reads dumps only
}

var about = `Answers questions about the scheduling of a cluster: why a pod waits, where pods
go, what a drain does, which nodes may fail. It decides as Kubernetes ` + release.Current.Patch() + `
does.

`

const ofCluster = `It reads the cluster of the current kubeconfig context, lists only what the
question needs and changes nothing. With -f it reads dumps and needs no cluster.
`

const ofDumps = `It reads dumps, which -f names: what kubectl get -A -o yaml prints, or what
kubectl podberth snapshot saves. It needs no cluster.
`

const exitCodes = `
Exit codes: 0 answered; 1 the answer is no and a flag asked for it (--fail-...),
a drain cannot begin, lint finds an error, or preflight something in the way; 2
bad usage, bad input, no access.`

// global are the flags of all commands.
type global struct {
	Program
	namespace string // of -n; "" when not given
	files     []string
	maxSize   string
	output    string
	width     int
	all       bool // namespaces
	verbose   bool
	bare      bool // no headers

	stdin          io.Reader
	stdout, stderr io.Writer
}

// exit is the exit code of a program that has said why.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run is main with its surroundings as arguments. It returns the exit code. The end of ctx, SIGINT and SIGTERM end it.
func (p Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	g := &global{Program: p, width: -1, stdin: stdin, stdout: &gate{out: stdout, width: report.Width(stdout)}, stderr: &gate{out: stderr, width: report.Width(stderr)}}
	root := g.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(g.stdout)
	root.SetErr(g.stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return program.OK
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		err = program.ErrInterrupted
	}
	text := err.Error()
	if strings.Contains(text, "\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	report.Textf(stderr, "%s: %s\n", p.Name, text)
	return program.BadInput
}

func (g *global) root() *cobra.Command {
	c := &cobra.Command{
		Use: strings.ReplaceAll(g.Name, " ", "-"), Short: "Answers questions about the scheduling of a cluster", Long: about + ofDumps + exitCodes,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: g.Name},
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	f := c.PersistentFlags()
	const paths = "a file, a folder, or - for standard input; .gz too; repeatable"
	reading := "read `PATH`: " + paths
	c.Example = g.examples([2]string{"why a pod waits\nwhy web-0", "where the waiting pods go\nplace -A"})
	if g.Cluster != nil {
		g.Cluster.Flags(f)
		c.Long = about + ofCluster + exitCodes
		reading = "read `PATH` in place of the cluster: " + paths
		c.Example = "  # why a pod waits\n  kubectl podberth why web-0\n  # save the cluster, and ask without it\n  kubectl podberth snapshot -o cluster.yaml.gz\n  kubectl podberth place -f cluster.yaml.gz"
	}
	f.StringVarP(&g.namespace, "namespace", "n", "", "answer about this `NAMESPACE`, and take it for names without one")
	f.StringArrayVarP(&g.files, "filename", "f", nil, reading)
	f.BoolVarP(&g.all, "all-namespaces", "A", false, "answer about all namespaces")
	f.IntVar(&g.width, "width", -1, "fit tables and texts into so many `COLUMNS`; 0 fits nothing; without it the terminal's")
	f.StringVar(&g.maxSize, "max-size", "", "read files and answers of up to this `SIZE`, unpacked (256Mi when not given)")
	f.BoolVar(&g.verbose, "all-warnings", false, "print every warning, not groups of warnings")
	f.BoolVar(&g.bare, "no-headers", false, "print tables without their headers and the summary")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return fmt.Errorf("%w; see %s --help", err, c.CommandPath()) })
	for _, q := range questions() {
		c.AddCommand(g.command(q))
	}
	c.AddCommand(g.snapshot(), g.mcpCommand(), g.versionCommand())
	for _, each := range c.Commands() {
		g.interruptible(each)
	}
	c.SetUsageTemplate(strings.NewReplacer(".LocalFlags.FlagUsages", ".LocalFlags.FlagUsagesWrapped 80", ".InheritedFlags.FlagUsages", ".InheritedFlags.FlagUsagesWrapped 80").Replace(c.UsageTemplate()))
	c.InitDefaultHelpCmd()
	f.Lookup("width").DefValue = "0" // which the help does not print
	return c
}

// noInput is the error of a command that got no dump and has no cluster.
func (g *global) noInput(verb string) error {
	return fmt.Errorf("%w; see %s %s --help", program.CheckInputs(nil), g.Name, verb)
}

// namespaces returns the namespace that names without one are in, and the namespace whose things are printed; "" prints all. Of a
// cluster both are the context's, as with kubectl. Of a dump everything is printed unless -n is given.
func (g *global) namespaces(verb string) (of, shown string, err error) {
	switch {
	case len(g.files) > 0:
		of, shown = g.namespace, g.namespace
		if of == "" {
			of = "default"
		}
	case g.Cluster == nil:
		return "", "", g.noInput(verb)
	default:
		if of, err = g.Cluster.Namespace(g.namespace); err != nil {
			return "", "", err
		}
		shown = of
	}
	if g.all {
		shown = ""
	}
	return of, shown, nil
}
