package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// reports returns where the reports of --shadow go, and what closes it.
func (o *options) reports(stdout io.Writer) (io.Writer, func() error, error) {
	if !o.shadow.on || o.shadow.output == "-" {
		return stdout, func() error { return nil }, nil
	}
	f, err := os.OpenFile(o.shadow.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, usage{fmt.Errorf("--shadow-output: %w", err)}
	}
	return f, f.Close, nil
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
