package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/cmd/internal/mcp"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// keep is how long the snapshot of a cluster answers the questions of an agent. A dump answers until it is read again on request.
const keep = 30 * time.Second

// mcpCommand is the command that answers agents.
func (g *global) mcpCommand() *cobra.Command {
	var size int
	c := &cobra.Command{
		Use: "mcp", Short: "Let an agent ask, by the Model Context Protocol", Args: cobra.NoArgs,
		Long: `Let an agent ask, by the Model Context Protocol.

Speaks the protocol on standard input and output until the input ends. Its six
tools read and change nothing. docs/agents.md says when an agent asks which.

Exit codes: 0 the input has ended; 2 bad usage, bad input.`,
		Example: g.examples([2]string{"in the settings of an agent\nmcp", "about a dump\nmcp -f cluster.yaml"}),
	}
	c.Flags().IntVar(&size, "answer-size", mcp.DefaultSize>>10, fmt.Sprintf("the most `KILOBYTES` of an answer, %d to %d", mcp.MinSize>>10, mcp.MaxSize>>10))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if size < mcp.MinSize>>10 || size > mcp.MaxSize>>10 {
			return fmt.Errorf("--answer-size: Invalid value: %d: must be %d to %d", size, mcp.MinSize>>10, mcp.MaxSize>>10)
		}
		of, _, err := g.namespaces(c.Name())
		if err != nil {
			return err
		}
		o := mcp.Options{Namespace: of, Version: version(), Size: size << 10}
		if len(g.files) > 0 {
			o.Read, err = g.readFiles()
		} else {
			o.Keep, o.Read = keep, g.readCluster
		}
		if err != nil {
			return err
		}
		return mcp.Serve(c.Context(), o, g.stdin, g.stdout)
	}
	return c
}

// readFiles reads the dumps of -f. It reads them once before the first question, so that a bad one ends the command with an error.
func (g *global) readFiles() (func(context.Context) (*dump.Objects, []string, error), error) {
	size, err := g.mostBytes()
	if err != nil {
		return nil, err
	}
	for _, path := range g.files {
		if path == "-" {
			return nil, fmt.Errorf(`-f: Invalid value: "-": standard input is for the protocol`)
		}
	}
	first, err := dump.Read(g.files, nil, dump.Options{MaxSize: size})
	if err != nil {
		return nil, err
	}
	return func(context.Context) (*dump.Objects, []string, error) {
		if o := first; o != nil {
			first = nil
			return o, nil, nil
		}
		o, err := dump.Read(g.files, nil, dump.Options{MaxSize: size})
		return o, nil, err
	}, nil
}

// readCluster reads the cluster.
func (g *global) readCluster(ctx context.Context) (*dump.Objects, []string, error) {
	size, err := g.mostBytes()
	if err != nil {
		return nil, nil, err
	}
	in, warnings, err := g.Cluster.Read(ctx, Need{All: true, MaxSize: size}, io.Discard)
	if err != nil { // it may name the server and the user of the kubeconfig, which an agent does not get
		report.Textf(g.stderr, "%s\n", err)
		return nil, nil, errors.New("the cluster cannot be read: the standard error of the program says why")
	}
	o, err := dump.Read([]string{"-"}, in, dump.Options{MaxSize: 1 << 40})
	return o, warnings, err
}
