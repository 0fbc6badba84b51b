package failures

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// metrics returns the answer in Prometheus' text format.
func (a *failureReport) metrics() string {
	var b strings.Builder
	family := func(name, help string, value func(s *scenario) int) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for i := range a.Scenarios {
			s := &a.Scenarios[i]
			fmt.Fprintf(&b, "%s{scenario=\"%s\"} %d\n", name, labelValue(s.Name), value(s))
		}
	}
	family("podberth_failure_lost_pods", "Pods on the nodes that fail.", func(s *scenario) int { return s.Lost })
	family("podberth_failure_pending_pods", "Pods that do not come back after the failure although a controller asks for them.", func(s *scenario) int { return s.Pending + s.Waiting })
	family("podberth_failure_displaced_pods", "Pods that are preempted after the failure.", func(s *scenario) int { return s.Displaced })
	family("podberth_failure_budgets_below_minimum", "Disruption budgets that are below their minimum right after the failure or in the end.", func(s *scenario) int { return len(s.Budgets) })
	if h := a.Headroom; h != nil {
		fmt.Fprintf(&b, "# HELP podberth_failure_survives_nodes Any so many nodes may fail and no pod stays pending.\n# TYPE podberth_failure_survives_nodes gauge\npodberth_failure_survives_nodes %d\n", h.Survives)
	}
	return b.String()
}

// labelValue escapes the value of a label.
func labelValue(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)
}

// writeMetrics writes the file in one step, so that a collector never reads half of it.
func writeMetrics(path string, a *failureReport) error {
	if err := report.WriteText(path, 0o644, a.metrics()); err != nil {
		return fmt.Errorf("-prometheus: %w", err)
	}
	return nil
}
