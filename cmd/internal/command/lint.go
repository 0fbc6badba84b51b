package command

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/lint"
)

// lintInputs says what the command reads of a cluster.
const lintInputs = `Checks the workloads of the cluster, or the manifests of -f. --live holds
manifests against the cluster, --cluster against a dump. -o sarif is for code
scanning.`

func lintRules() question {
	return question{
		use: "lint", short: "Find scheduling rules that can never be met or do nothing",
		long: lintInputs + `

Exit codes: 0 no finding has severity error; 1 a finding has; 2 bad input.`,
		examples: [2]string{"the workloads of the current namespace\nlint", "manifests, held against the cluster\nlint -f manifests/ --live"},
		program:  "lint", flags: lintFlags, run: lint.Run, args: cobra.NoArgs, namespaced: true, forms: []string{"sarif"},
		names: []string{"=findings.object"}, more: against,
		need: func(*asked) Need { return Need{All: true} },
		dumps: func(q *question) {
			q.flags = lint.Flags
			q.long = strings.Replace(q.long, lintInputs, "Checks the workloads of a dump, or manifests. --cluster holds manifests against\na dump. -o sarif is for code scanning.", 1)
			q.examples = [2]string{"the workloads of a dump\nlint -f cluster.yaml", "manifests, held against a dump\nlint -f manifests/ --cluster cluster.yaml"}
		},
	}
}

const liveFlag = "live"

// lintFlags are the program's flags and --live.
func lintFlags() *flag.FlagSet {
	f := lint.Flags()
	f.Bool(liveFlag, false, "hold the manifests of -f against the cluster of the kubeconfig context")
	return f
}

// against gives the program the cluster as a dump when --live asks for it.
func against(a *asked) error {
	live := false
	kept := a.given[:0:0]
	for _, g := range a.given {
		switch g {
		case "-" + liveFlag + "=true":
			live = true
		case "-" + liveFlag + "=false":
		default:
			kept = append(kept, g)
		}
	}
	a.given = kept
	if !live || len(a.files) == 0 {
		return nil
	}
	dump, err := a.read(a.ctx, Need{All: true})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "podberth")
	if err != nil {
		return err
	}
	a.cleanup = append(a.cleanup, func() { os.RemoveAll(dir) }) // a file in the folder for temporary files is all that may stay
	path := filepath.Join(dir, "cluster.json")
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, dump); err != nil {
		return err
	}
	a.given = append(a.given, "-cluster="+path)
	return file.Close()
}
