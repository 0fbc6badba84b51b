package explain

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/placement"
)

// helps says what would let the pod onto nodes: on each a remedy for every plugin that rejects the pod. Nodes with equal
// remedies share a text. Nodes with a plugin of which no remedy is known have none.
func helps(nodes []placement.NodeReport) []string {
	var texts []string
	on := map[string][]string{}
	for _, n := range nodes {
		var list []string
		for _, r := range n.Rejections {
			if text := remedy(r); text != "" {
				list = append(list, text)
			}
		}
		text := strings.Join(list, ", and ")
		switch {
		case len(list) < len(n.Rejections):
			continue
		case on[text] == nil:
			texts = append(texts, text)
		}
		on[text] = append(on[text], n.Node)
	}
	for k, text := range texts {
		texts[k] = fmt.Sprintf("on %s %s", strings.Join(on[text], ", "), text)
	}
	return texts
}

// remedies are what a person can do about the rejection of a plugin. %s is the first line of the numbers.
var remedies = map[string]string{
	"NodeUnschedulable":    "kubectl uncordon",
	"NodeName":             "no spec.nodeName of another node",
	"TaintToleration":      "a toleration, or no taint (%s)",
	"NodeAffinity":         "other labels, or another node selector (%s)",
	"NodePorts":            "another host port (%s)",
	"PodTopologySpread":    "fewer such pods there, more elsewhere, or a larger maxSkew (%s)",
	"InterPodAffinity":     "other pods in its domains, or other affinity (%s)",
	"NodeVolumeLimits":     "fewer volumes (%s)",
	"VolumeBinding":        "a volume that fits (%s)",
	"VolumeZone":           "the zone of the volume (%s)",
	"VolumeRestrictions":   "a volume that nobody uses (%s)",
	"DynamicResources":     "devices for the claims (%s)",
	"NodeDeclaredFeatures": "a kubelet with the features (%s)",
}

// remedy returns what helps against a rejection, "" when nothing is known.
func remedy(r placement.Rejection) string {
	numbers := strings.Join(r.Numbers, "; ")
	if r.Plugin == "NodeResourcesFit" {
		switch {
		case strings.Contains(numbers, "the node offers none"):
			return fmt.Sprintf("a resource that it does not have (%s)", numbers)
		case r.Code == "Unschedulable":
			return fmt.Sprintf("fewer or smaller pods, or smaller requests (%s)", numbers)
		}
		return fmt.Sprintf("smaller requests or a larger node (%s)", numbers)
	}
	text, with := strings.CutSuffix(remedies[r.Plugin], " (%s)")
	if with && len(r.Numbers) > 0 {
		text += " (" + r.Numbers[0] + ")"
	}
	return text
}
