package command

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/cmd/kubectl-podberth/internal/source"
	"github.com/podberth/podberth/examples/anonymise"
	"github.com/podberth/podberth/examples/dump"
	"github.com/podberth/podberth/examples/report"
)

// snapshot is the command that saves what the other commands read.
func (g *global) snapshot() *cobra.Command {
	var path, names string
	var anonymous bool
	c := &cobra.Command{
		Use: "snapshot", Short: "Save all that the other commands read, for -f", Args: cobra.NoArgs,
		Long: `Save all that the other commands read, for -f.

The form follows the name: .yaml or .json, and .gz packs it.

--anonymise replaces names, label values and images so that the answers stay the
same, and leaves out what no command reads: environment, commands, mounts,
addresses, annotations. It refuses what it cannot rename, and says what.
Resources, drivers and devices keep their names.

Exit codes: 0 saved; 2 bad usage, bad input, no access.`,
		Example: "  # the cluster\n  kubectl podberth snapshot -o cluster.yaml.gz\n  # for a bug report; names.json has the old names\n  kubectl podberth snapshot -o cluster.yaml.gz --anonymise --names names.json",
	}
	f := c.Flags()
	f.StringVarP(&path, "output", "o", "-", "write `PATH`; - is standard output, as YAML")
	f.BoolVar(&anonymous, "anonymise", false, "replace names, label values and images")
	f.StringVar(&names, "names", "", "with --anonymise: write the old names to `FILE`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if names != "" && !anonymous {
			return errors.New("--names: Invalid value: goes with --anonymise")
		}
		objects, err := g.objects(c)
		if err != nil {
			return err
		}
		var list []anonymise.Tree
		if anonymous {
			var old *anonymise.Names
			if list, old, err = anonymise.Objects(objects); err != nil {
				return fmt.Errorf("--anonymise: %w", err)
			}
			if names != "" {
				data, err := json.MarshalIndent(old, "", "  ")
				if err != nil {
					return err
				}
				if err := os.WriteFile(names, append(data, '\n'), 0o600); err != nil {
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
			return dump.Write(out, list, strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".json"), func(done int) { progress.Step(done, len(list)) })
		})
	}
	return c
}

// objects reads the dumps, or everything from the cluster.
func (g *global) objects(c *cobra.Command) (*dump.Objects, error) {
	if len(g.files) > 0 {
		objects, err := dump.Read(g.files, g.stdin, dump.Options{Verbose: g.verbose})
		if err == nil {
			objects.Warnings.Print(g.stderr)
		}
		return objects, err
	}
	client, err := g.client()
	if err != nil {
		return nil, err
	}
	progress := report.NewProgress(g.stderr, "reading the cluster", "objects", nil)
	in, warnings, err := source.Read(c.Context(), client, source.Need{All: true}, source.Options{Partial: g.partial, Progress: progress})
	progress.End()
	if err != nil {
		return nil, err
	}
	for _, text := range warnings {
		fmt.Fprintf(g.stderr, "warning: %s\n", text)
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
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".gz") {
		z := gzip.NewWriter(f)
		err = errors.Join(write(z), z.Close())
	} else {
		err = write(f)
	}
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
