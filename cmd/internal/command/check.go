package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/check"
)

const spreadFlag = "-spread="

func checkCluster() question {
	return question{
		use: "check", short: "Say what is wrong in a running cluster, and how pods are spread",
		long: `Finds running pods whose nodes would reject them now, and mistakes in topology
spread constraints. --spread shows how the pods are spread that the constraints
of one pod count; --place says where more of them go, --delete which to delete.

Exit codes: 0 answered; 1 something is wrong and --fail-found is given; 2 bad
input.`,
		examples: [2]string{"the pods of all namespaces\ncheck -A", "where ten more replicas go, of a dump\ncheck -f cluster.yaml --spread shop/web-0 --place 10"},
		program:  "check", flags: check.Flags, run: check.Run, args: cobra.NoArgs, namespaced: true,
		hidden: []string{strict}, names: []string{"pod=violations.pod", "pod=findings.pods", "node=place.nodes", "pod=delete.pod"}, completeFlags: map[string]Kind{"spread": Pods},
		need: func(a *asked) Need { return Need{Placing: true, Workloads: a.has("-place")} },
		more: func(a *asked) error {
			for k, given := range a.given { // a name without a namespace is in that of the context
				if pod, ok := strings.CutPrefix(given, spreadFlag); ok && pod != "" && !strings.Contains(pod, "/") {
					a.given[k] = spreadFlag + a.namespace + "/" + pod
				}
			}
			return nil
		},
	}
}
