package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/release"
)

func (g *global) versionCommand() *cobra.Command {
	newest := "go install github.com/podberth/podberth/cmd/podberth@latest"
	if g.Cluster != nil {
		newest = "kubectl krew upgrade podberth"
	}
	return &cobra.Command{
		Use: "version", Short: "Print the version, and whose decisions it makes", Args: cobra.NoArgs,
		Example: "  # of this program\n  " + g.Name + " version\n  # is it the newest?\n  " + newest,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s, Kubernetes %s\n", g.Name, version(), release.Current.Patch())
			return err
		},
	}
}

// version is that of the module of the program.
func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
