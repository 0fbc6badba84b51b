package command

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/anonymise"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// snapshot is the command that saves what the other commands read.
func (g *global) snapshot() *cobra.Command {
	var path, names string
	var anonymous, stats bool
	const kubelets = `Of each node it also saves what its kubelet measures and how it is configured to
evict, as objects of kind Kubelet. That needs get on nodes/proxy; a warning says
how many kubelets gave nothing. --stats=false does not ask them.

`
	c := &cobra.Command{
		Use: "snapshot", Short: "Save all that the other commands read, for -f", Args: cobra.NoArgs,
		Long: `Save all that the other commands read, for -f.

The form follows the name: .yaml or .json, and .gz packs it.

` + kubelets + `--anonymise replaces names, label values and images so that the answers stay the
same, and leaves out what no command reads: environment, commands, mounts,
addresses, annotations. It refuses what it cannot rename, and says what.
Resources, drivers and devices keep their names.

Exit codes: 0 saved; 2 bad usage, bad input, no access.`,
		Example: g.examples([2]string{"the cluster\nsnapshot -o cluster.yaml.gz", "for a bug report; names.json has the old names\nsnapshot -o cluster.yaml.gz --anonymise --names names.json"}),
	}
	if g.Cluster == nil {
		c.Long = strings.Replace(c.Long, kubelets, "", 1)
		c.Example = g.examples([2]string{"the dumps of a folder as one file\nsnapshot -f dumps/ -o cluster.yaml.gz", "for a bug report; names.json has the old names\nsnapshot -f dumps/ -o report.yaml --anonymise --names names.json"})
	}
	f := c.Flags()
	f.StringVarP(&path, "output", "o", "-", "write `PATH`; - is standard output, as YAML")
	if g.Cluster != nil {
		f.BoolVar(&stats, "stats", true, "ask the kubelets for what pressure reads; --stats=false leaves it out")
	}
	f.BoolVar(&anonymous, "anonymise", false, "replace names, label values and images")
	f.StringVar(&names, "names", "", "with --anonymise: write the old names to `FILE`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if names != "" && !anonymous {
			return errors.New("--names: Invalid value: goes with --anonymise")
		}
		objects, err := g.objects(c, Need{All: true, Stats: stats, Settings: stats})
		if err != nil {
			return err
		}
		var list []anonymise.Tree
		if anonymous {
			var old *anonymise.Names
			progress := report.NewProgress(g.stderr, "snapshot", "steps of renaming", nil)
			list, old, err = anonymise.Objects(objects, progress.Step)
			progress.End()
			if err != nil {
				return fmt.Errorf("--anonymise: %w", err)
			}
			for _, name := range old.Unlike {
				fmt.Fprintf(g.stderr, "warning: --anonymise: lint suggests other names for %q than before\n", name)
			}
			if names != "" {
				data, err := json.MarshalIndent(old, "", "  ")
				if err != nil {
					return err
				}
				if err := report.WriteText(names, 0o600, string(data)+"\n"); err != nil {
					return err
				}
			}
		} else if list, err = anonymise.Trees(objects); err != nil {
			return err
		} else {
			for _, t := range list {
				lean(t)
			}
		}
		progress := report.NewProgress(g.stderr, "snapshot", "objects", nil)
		defer progress.End()
		return save(path, g.stdout, func(out io.Writer) error {
			return dump.Write(program.Until(c.Context(), out), list, strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".json"), func(done int) { progress.Step(done, len(list)) })
		})
	}
	return c
}

// objects reads the dumps, or from the cluster what is needed.
func (g *global) objects(c *cobra.Command, need Need) (*dump.Objects, error) {
	if len(g.files) > 0 {
		objects, err := dump.Read(g.files, g.stdin, dump.Options{Verbose: g.verbose, Progress: program.Reading(g.stderr)})
		if err == nil {
			objects.Warnings.Print(g.stderr)
		}
		return objects, err
	}
	if g.Cluster == nil {
		return nil, g.noInput(c.Name())
	}
	var err error
	if need.MaxSize, err = g.mostBytes(); err != nil {
		return nil, err
	}
	in, err := g.read(c.Context(), need)
	if err != nil {
		return nil, err
	}
	return dump.Read([]string{"-"}, in, dump.Options{MaxSize: 1 << 40})
}

// lean removes what the API server and kubectl keep for themselves.
func lean(t anonymise.Tree) {
	m, ok := t["metadata"].(anonymise.Tree)
	if !ok {
		return
	}
	delete(m, "managedFields")
	if a, ok := m["annotations"].(anonymise.Tree); ok {
		delete(a, "kubectl.kubernetes.io/last-applied-configuration")
	}
}

// save writes a file whole or not at all. A file that ends in .gz is packed.
func save(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "-" {
		return write(stdout)
	}
	if !strings.HasSuffix(path, ".gz") {
		return report.WriteFile(path, 0o644, write)
	}
	return report.WriteFile(path, 0o644, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(write(z), z.Close())
	})
}
