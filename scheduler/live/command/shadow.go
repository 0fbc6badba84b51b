package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// runShadow judges other schedulers until the context ends.
func (o *options) runShadow(ctx context.Context, p prepared, s *server, stdout io.Writer) error {
	if o.shadow.output == "-" {
		return judge(ctx, p, s, stdout)
	}
	f, err := os.OpenFile(o.shadow.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return usage{fmt.Errorf("--shadow-output: %w", err)}
	}
	return errors.Join(judge(ctx, p, s, f), f.Close())
}

// judge counts each judged pod in a metric, and writes a JSON line for each difference that is not a tie.
func judge(ctx context.Context, p prepared, s *server, out io.Writer) error {
	judged := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podberth_shadow_decisions_total", Help: "Number of pods of other schedulers that were judged, by the verdict.",
	}, []string{"verdict"})
	s.registry.MustRegister(judged)
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
