package command

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/dump"
)

// completer completes names of pods or nodes from the dump of -f or from the cluster. It offers nothing when neither can be read.
// Without a kind there are no names.
func (g *global) completer(kind Kind) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begin string) (out []string, _ cobra.ShellCompDirective) {
		if kind == "" || len(args) > 0 && kind == Pods {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := g.namesFor(c, kind)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, name := range names {
			if strings.HasPrefix(name, begin) && !slices.Contains(args, name) {
				out = append(out, name)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

func (g *global) namesFor(c *cobra.Command, kind Kind) (names []string, err error) {
	_, shown, err := g.namespaces(c.Name())
	if err != nil {
		return nil, err
	}
	if len(g.files) == 0 {
		return g.Cluster.Names(c.Context(), kind, shown)
	}
	objects, err := dump.Read(g.files, io.LimitReader(g.stdin, 0), dump.Options{})
	if err != nil {
		return nil, err
	}
	if kind == Nodes {
		for _, n := range objects.Nodes {
			names = append(names, n.Name)
		}
		return names, nil
	}
	for _, p := range objects.Pods {
		switch {
		case shown == "":
			names = append(names, p.Namespace+"/"+p.Name)
		case shown == p.Namespace:
			names = append(names, p.Name)
		}
	}
	return names, nil
}
