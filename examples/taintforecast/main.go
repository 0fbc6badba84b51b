// Command taintforecast tells which pods taints make leave their nodes, and when: it plays events such as a kubelet that
// falls silent through the node lifecycle and the taint-eviction controller.
//
//	go run ./examples/taintforecast -f examples/simulate/testdata/cluster.yaml -events examples/taintforecast/testdata/events.yaml -admit
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/eviction/taint"
)

// Exit codes of the programs.
const (
	exitOK       = 0
	exitBadInput = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// options are the command line.
type options struct {
	files  []string
	events string
	until  time.Duration // negative: not given
	admit  bool
	strict bool
	output string
	config taint.Config
}

// run is main with its surroundings as arguments. Results go to stdout in one piece, or not at all.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		err = answer(o, stdin, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintf(stderr, "taintforecast: %v\n", err)
		return exitBadInput
	}
	return exitOK
}

func answer(o options, stdin io.Reader, stdout, stderr io.Writer) error {
	in, warnings, err := load(o, stdin)
	if err != nil {
		return err
	}
	line, err := taint.Forecast(in)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := write(&out, line, o.output); err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	_, err = stdout.Write(out.Bytes())
	return err
}

func write(out io.Writer, line taint.Timeline, form string) error {
	if form == "table" {
		_, err := io.WriteString(out, line.String())
		return err
	}
	data, err := json.MarshalIndent(line, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if form == "yaml" {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	}
	_, err = out.Write(data)
	return err
}

var outputs = []string{"table", "json", "yaml"}

// longest is how far a forecast looks at most; it walks through every monitor pass.
const longest = 30 * 24 * time.Hour

func parseFlags(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("taintforecast", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprintf(stderr, "taintforecast tells which pods taints make leave their nodes, and when.\n\nusage: taintforecast -f PATH -events FILE [flags]\n\n")
		f.PrintDefaults()
	}
	f.Func("f", "nodes and pods, repeatable: a file, a folder, or - for standard input", func(s string) error {
		o.files = append(o.files, s)
		return nil
	})
	f.StringVar(&o.events, "events", "", "`FILE` with what happens: events, each with at, node and one of condition with status, taint, heartbeats, unschedulable, deleted")
	f.DurationVar(&o.until, "until", -1, "how far to look (10m after the last event when not given)")
	f.BoolVar(&o.admit, "admit", false, "give pods the tolerations of 300 seconds that admission gives them")
	f.BoolVar(&o.strict, "strict", false, "what is a warning otherwise is an error")
	f.StringVar(&o.output, "o", "table", "output: "+strings.Join(outputs, ", "))
	controllerFlags(f, &o.config)
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w; see taintforecast -h", err)
	}
	untilGiven := false
	f.Visit(func(g *flag.Flag) { untilGiven = untilGiven || g.Name == "until" })
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see taintforecast -h", f.Arg(0))
	case len(o.files) == 0:
		return o, errors.New("-f: Required value: at least one file, folder or -")
	case o.events == "":
		return o, errors.New("-events: Required value: a file with events")
	case o.events == "-" && slices.Contains(o.files, "-"):
		return o, errors.New("-events: Invalid value: \"-\": standard input can be read once only")
	case !slices.Contains(outputs, o.output):
		return o, fmt.Errorf("-o: Unsupported value: %q: supported values: %s", o.output, strings.Join(outputs, ", "))
	case untilGiven && (o.until < 0 || o.until > longest):
		return o, fmt.Errorf("-until: Invalid value: %q: must be from 0s to %v", o.until, longest)
	case o.config.MonitorPeriod != 0 && o.config.MonitorPeriod < taint.ServePeriod:
		return o, fmt.Errorf("-node-monitor-period: Invalid value: %q: must be at least %v", o.config.MonitorPeriod, taint.ServePeriod)
	}
	for _, bad := range o.config.Validate(nil) {
		return o, fmt.Errorf("-%s: Invalid value: %v: %s", controllerFlag[bad.Field], bad.BadValue, bad.Detail)
	}
	return o, nil
}

// controllerFlag maps fields of the configuration to flags of kube-controller-manager.
var controllerFlag = map[string]string{
	"monitorPeriod": "node-monitor-period", "gracePeriod": "node-monitor-grace-period", "startupGrace": "node-startup-grace-period",
	"evictionRate": "node-eviction-rate", "secondaryRate": "secondary-node-eviction-rate",
	"largeCluster": "large-cluster-size-threshold", "unhealthyThreshold": "unhealthy-zone-threshold",
}

func controllerFlags(f *flag.FlagSet, c *taint.Config) {
	f.DurationVar(&c.MonitorPeriod, controllerFlag["monitorPeriod"], 0, "as of kube-controller-manager (5s when not given)")
	f.DurationVar(&c.GracePeriod, controllerFlag["gracePeriod"], 0, "as of kube-controller-manager (50s when not given)")
	f.DurationVar(&c.StartupGrace, controllerFlag["startupGrace"], 0, "as of kube-controller-manager (1m when not given)")
	number := func(name, usage string, to **float32) {
		f.Func(controllerFlag[name], usage, func(s string) error {
			n, err := strconv.ParseFloat(s, 32)
			if err != nil {
				return errors.New("must be a number")
			}
			value := float32(n)
			*to = &value
			return nil
		})
	}
	number("evictionRate", "as of kube-controller-manager, nodes a second (0.1 when not given)", &c.EvictionRate)
	number("secondaryRate", "as of kube-controller-manager, nodes a second (0.01 when not given)", &c.SecondaryRate)
	number("unhealthyThreshold", "as of kube-controller-manager, a share (0.55 when not given)", &c.UnhealthyThreshold)
	f.Func(controllerFlag["largeCluster"], "as of kube-controller-manager, nodes (50 when not given)", func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("must be an integer")
		}
		c.LargeCluster = &n
		return nil
	})
}
