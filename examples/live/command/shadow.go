package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/examples/live/daemon"
	"github.com/podberth/podberth/examples/live/shadow"
)

// runShadow judges other schedulers until the context ends. Each judged pod counts in a metric. Each difference that is not a tie
// is a JSON line.
func (o *options) runShadow(ctx context.Context, p prepared, s *server, stdout io.Writer) error {
	out := stdout
	if o.shadow.output != "-" {
		f, err := os.OpenFile(o.shadow.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return usage{fmt.Errorf("--shadow-output: %w", err)}
		}
		defer func() { klog.InfoS("Reports written", "file", o.shadow.output, "err", f.Close()) }()
		out = f
	}
	judged := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podberth_shadow_decisions_total", Help: "Number of pods of other schedulers that were judged, by the verdict.",
	}, []string{"verdict"})
	if err := s.registry.Register(judged); err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	d, err := daemon.NewShadow(ctx, p.daemon, func(r shadow.Report) {
		judged.WithLabelValues(string(r.Verdict)).Inc()
		if r.Verdict == shadow.Same || r.Verdict == shadow.Tie {
			return
		}
		if err := lines.Encode(r); err != nil {
			klog.ErrorS(err, "A report was not written", "pod", r.Pod)
		}
	})
	if err != nil {
		return err
	}
	s.watch(d)
	return d.Run(ctx)
}
