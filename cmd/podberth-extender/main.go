// Command podberth-extender serves podberth's filters, scores and preemption to a stock kube-scheduler, in the wire format of
// scheduler extenders.
//
//	go run ./cmd/podberth-extender -f cluster.yaml -listen 127.0.0.1:8888
//
// -f has the objects that the wire format does not carry: the pods on the nodes, namespaces, services, volumes and so on.
// Node objects in requests replace those of -f. -max-body, -at-once and -max-nodes limit the resources that clients can
// use. The signal HUP makes the program read -f and -config again. In kube-scheduler's configuration:
//
//	extenders:
//	- urlPrefix: http://127.0.0.1:8888
//	  filterVerb: filter
//	  prioritizeVerb: prioritize
//	  weight: 1
//	  preemptVerb: preempt
//	  nodeCacheCapable: true
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/scheduler/extender"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

const programName = "podberth-extender"

func main() {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, hangup))
}

// options are the command line.
type options struct {
	files  []string
	input  dump.Options
	listen string
	config string
	limits extender.Options // and what requests are checked and compiled with
}

// The time-outs of a connection. A request that is not read within readTimeout fails.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
)

// run serves until ctx ends. hangup makes it read its input again.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, hangup <-chan os.Signal) int {
	o, err := parseFlags(args, stdout)
	if err != nil {
		return program.Code(programName, err, stderr)
	}
	in, err := read(o, stdin)
	var h *extender.Handler
	if err == nil {
		h, err = extender.New(in.objects, in.profiles, o.limits)
	}
	if err != nil {
		return program.Code(programName, err, stderr)
	}
	in.warnings.Print(stderr)
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return program.Code(programName, fmt.Errorf("-listen: %w", err), stderr)
	}
	fmt.Fprintf(stderr, "listening on http://%s\n", listener.Addr())
	return program.Code(programName, serve(ctx, listener, h, func() {
		in, err := read(o, stdin)
		if err == nil {
			err = h.Set(in.objects, in.profiles)
		}
		if err != nil {
			report.Textf(stderr, "%s: not read again: %v\n", programName, err)
			return
		}
		in.warnings.Print(stderr)
	}, hangup), stderr)
}

// serve answers requests until ctx ends. Requests that are being answered are finished first. The error says why the server
// stopped, or that requests did not finish in time.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, again func(), hangup <-chan os.Signal) error {
	h := bounded(handler)
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	for {
		select {
		case <-hangup:
			again()
		case err := <-ended:
			return fmt.Errorf("%s: %w", listener.Addr(), err)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if err := h.Shutdown(last); err != nil {
				return fmt.Errorf("%s: requests did not finish: %w", listener.Addr(), err)
			}
			return nil
		}
	}
}

// bounded returns an HTTP server with the time-outs.
func bounded(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 64 << 10,
	}
}

func parseFlags(args []string, stdout io.Writer) (o options, err error) {
	o.limits.Check, o.limits.Selectors = dump.Check, cel.NewCompiler()
	f := program.Flags(program.Help{
		Name: programName, Purpose: "serves podberth's filters, scores and preemption to a stock kube-scheduler.", Usage: []string{programName + " -f PATH [flags]"},
		Examples: []string{programName + " -f cluster.yaml -listen 127.0.0.1:8888"},
	}, stdout)
	program.Inputs(f, &o.files, "input")
	o.input.Flags(f.FlagSet)
	f.StringVar(&o.listen, "listen", "127.0.0.1:8888", "`ADDRESS` to listen on")
	f.StringVar(&o.config, "config", "", "`FILE` with a KubeSchedulerConfiguration whose profiles decide; the default profile without")
	f.Int64Var(&o.limits.MaxScore, "scores", 10, "the highest `SCORE` that is sent; kube-scheduler multiplies by 10 and by the extender's weight")
	f.Int64Var(&o.limits.MaxBody, "max-body", 64<<20, "the largest request in `BYTES`")
	f.IntVar(&o.limits.AtOnce, "at-once", 256, "the `NUMBER` of requests at the same time; more get status 429")
	f.IntVar(&o.limits.MaxNodes, "max-nodes", 20000, "the `NUMBER` of nodes of one request, and of nodes that only requests name")
	if err := program.Parse(f, args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see %s -h", f.Arg(0), programName)
	case len(o.files) == 0:
		return o, errors.New("-f: Required value: at least one file, folder or -")
	case o.limits.MaxScore < 1 || o.limits.MaxScore > 1000000:
		return o, fmt.Errorf("-scores: Invalid value: %d: not in valid range [1-1000000]", o.limits.MaxScore)
	case o.limits.MaxBody < 1 || o.limits.AtOnce < 1 || o.limits.MaxNodes < 1:
		return o, errors.New("-max-body, -at-once, -max-nodes: must be greater than 0")
	}
	return o, nil
}
