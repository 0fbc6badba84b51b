package command

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/examples/program"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, and whose decisions it makes", Args: cobra.NoArgs,
		Example: "  # of this program\n  kubectl podberth version\n  # is it the newest?\n  kubectl krew upgrade podberth",
		RunE: func(c *cobra.Command, _ []string) error {
			version := "(devel)"
			if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
				version = b.Main.Version
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s, Kubernetes %s\n", name, version, program.Kubernetes)
			return err
		},
	}
}
