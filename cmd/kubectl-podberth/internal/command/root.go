// Package command is the command line of kubectl podberth. A command reads the cluster or a dump, asks a program of the examples
// the question, and writes the answer for people. The programs decide; this package decides nothing.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/podberth/podberth/cmd/kubectl-podberth/internal/source"
	"github.com/podberth/podberth/examples/program"
)

const name = "kubectl podberth"

const about = `Answers questions about the scheduling of a cluster: why a pod waits, where pods
go, what a drain does, which nodes may fail. It decides as Kubernetes ` + program.Kubernetes + `
does.

It reads the cluster of the current kubeconfig context, lists only what the
question needs and changes nothing. With -f it reads dumps and needs no cluster.

Exit codes: 0 answered; 1 the answer is no and a flag asked for it (--fail-...),
a drain cannot begin, or lint finds an error; 2 bad usage, bad input, no access.`

// global are the flags of all commands.
type global struct {
	kube    *genericclioptions.ConfigFlags
	files   []string
	maxSize string
	output  string
	width   int
	all     bool // namespaces
	partial bool
	verbose bool
	bare    bool // no headers

	stdin          io.Reader
	stdout, stderr io.Writer
}

// exit is the exit code of a program that has said why.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run is main with its surroundings as arguments. It returns the exit code.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	g := &global{kube: kubeFlags(), width: -1, stdin: stdin, stdout: stdout, stderr: stderr}
	root := g.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return program.OK
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	text := err.Error()
	if strings.Contains(text, "\n") {
		text = strings.Join(strings.Fields(text), " ")
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, text)
	return program.BadInput
}

// kubeFlags are the flags about the cluster that kubectl has too.
func kubeFlags() *genericclioptions.ConfigFlags {
	all := genericclioptions.NewConfigFlags(true)
	return &genericclioptions.ConfigFlags{
		KubeConfig: all.KubeConfig, Context: all.Context, Namespace: all.Namespace, Timeout: all.Timeout,
		Impersonate: all.Impersonate, ImpersonateGroup: all.ImpersonateGroup,
	}
}

// kubeUsage are the flags of kubectl in few words.
var kubeUsage = map[string]string{
	"kubeconfig": "`FILE` with the kubeconfig", "context": "`NAME` of the kubeconfig context", "as": "impersonate this `USER`",
	"as-group": "impersonate this `GROUP`, repeatable", "request-timeout": "wait so long for a request, a `DURATION`; 0: for ever",
	"namespace": "answer about this `NAMESPACE`, and take it for names without one",
}

func (g *global) root() *cobra.Command {
	c := &cobra.Command{
		Use: "kubectl-podberth", Short: "Answers questions about the scheduling of a cluster", Long: about,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	f := c.PersistentFlags()
	g.kube.AddFlags(f)
	f.StringArrayVarP(&g.files, "filename", "f", nil, "read `PATH` in place of the cluster: a file, a folder, or - for standard input; .gz too; repeatable")
	f.BoolVarP(&g.all, "all-namespaces", "A", false, "answer about all namespaces")
	f.IntVar(&g.width, "width", -1, "fit tables and texts into so many `COLUMNS`; 0 fits nothing; without it the terminal's")
	f.StringVar(&g.maxSize, "max-size", "", "read files of up to this `SIZE`, unpacked (256Mi when not given)")
	f.BoolVar(&g.partial, "partial", false, "leave out what this user may not list, with a warning")
	f.BoolVar(&g.verbose, "all-warnings", false, "print every warning, not groups of warnings")
	f.BoolVar(&g.bare, "no-headers", false, "print tables without their headers and the summary")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return fmt.Errorf("%w; see %s --help", err, c.CommandPath()) })
	for _, q := range questions() {
		c.AddCommand(g.command(q))
	}
	c.AddCommand(g.snapshot(), versionCommand())
	c.SetUsageTemplate(strings.NewReplacer(".LocalFlags.FlagUsages", ".LocalFlags.FlagUsagesWrapped 80", ".InheritedFlags.FlagUsages", ".InheritedFlags.FlagUsagesWrapped 80").Replace(c.UsageTemplate()))
	c.Example = "  # why a pod waits\n  kubectl podberth why web-0\n  # save the cluster, and ask without it\n  kubectl podberth snapshot -o cluster.yaml.gz\n  kubectl podberth place -f cluster.yaml.gz"
	c.InitDefaultHelpCmd()
	for flag, usage := range kubeUsage {
		f.Lookup(flag).Usage = usage
	}
	f.Lookup("width").DefValue = "0" // which the help does not print
	return c
}

// client returns a client for the context's API server.
func (g *global) client() (*source.Client, error) {
	config, err := g.kube.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("%w; -f PATH reads a dump in place of the cluster", err)
	}
	return source.NewClient(config)
}

// namespace returns the namespace that names without one are in, and the namespace whose things are printed; "" prints all. Of a
// cluster both are the context's, as with kubectl. Of a dump everything is printed unless -n is given.
func (g *global) namespace() (of, shown string, err error) {
	given := *g.kube.Namespace
	if len(g.files) > 0 {
		of, shown = given, given
		if of == "" {
			of = "default"
		}
	} else if of, _, err = g.kube.ToRawKubeConfigLoader().Namespace(); err != nil {
		return "", "", fmt.Errorf("%w; kubectl config get-contexts lists the contexts, and -f PATH reads a dump in place of the cluster", err)
	} else {
		shown = of
	}
	if g.all {
		shown = ""
	}
	return of, shown, nil
}
