package testkit

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// AgentTaints are keys of taints that an agent, a cloud or kubectl sets, or that keep nodes for pods of the cluster itself. No advice tolerates
// or removes one. The list is written apart from the one that advice reads, so that a row which is missing there is found.
var AgentTaints = []string{
	"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/network-unavailable", "node.kubernetes.io/disk-pressure",
	"node.kubernetes.io/pid-pressure", "node.kubernetes.io/memory-pressure", "node.kubernetes.io/unschedulable", "node.kubernetes.io/out-of-service",
	"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown", "ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler-7", "karpenter.sh/disrupted", "karpenter.sh/disruption", "karpenter.sh/unregistered", "karpenter.sh/not-ready",
	"startup-taint.cluster-autoscaler.kubernetes.io/cni", "ignore-taint.cluster-autoscaler.kubernetes.io/cni", "status-taint.cluster-autoscaler.kubernetes.io/cni",
	"readiness.k8s.io/network", "node.cilium.io/agent-not-ready", "ebs.csi.aws.com/agent-not-ready", "efs.csi.aws.com/agent-not-ready", "s3.csi.aws.com/agent-not-ready",
	"node.cluster.x-k8s.io/uninitialized", "cloud.google.com/impending-node-termination", "aws-node-termination-handler/spot-itn", "NodeWithImpairedVolumes",
	"medik8s.io/remediation", "eks.amazonaws.com/compute-type", "virtual-kubelet.io/provider", "CriticalAddonsOnly", "node-role.kubernetes.io/control-plane",
	"node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd",
}

// factLabels are beginnings of labels that state facts about a node.
var factLabels = `(kubernetes\.io/(hostname|arch|os)|node\.kubernetes\.io/instance-type|topology\.|failure-domain\.beta\.|beta\.|node-role\.|node-restriction\.|karpenter\.|eks\.amazonaws\.com|cloud\.google\.com|kubernetes\.azure\.com|nvidia\.com|feature\.node\.kubernetes\.io)`

// harms are sentences that no advice says, whatever the cluster.
var harms = []*regexp.Regexp{
	regexp.MustCompile(`Node \S+: label ` + factLabels),
	regexp.MustCompile(`remove the label `),
	regexp.MustCompile(`kubectl label nodes? `),
	regexp.MustCompile(`^(.*[^a-z])?(Do|fix|remedy|Remedy|Step|then): .*(--grace-period[= ]0|--disable-eviction)`), // a script has the flags that its reader gave
	regexp.MustCompile(`remove (the )?finalizer`),
	regexp.MustCompile(`(drop|delete|remove) (the )?(bound )?(PersistentVolume|claim|volume|emptyDir)\b`),
	regexp.MustCompile(`PersistentVolume \S+: (drop|make|label|set)`),
	regexp.MustCompile(`(CSINode|CSIStorageCapacity|ResourceSlice) \S+: `),
}

// factSet is a fact that gets a value. It is the true one where the node says it elsewhere, or where a person must know it.
var factSet = regexp.MustCompile(`set ` + factLabels + `\S* of \S+ to (its real |\S+, as its )?`)

// touches reports whether a line tolerates or removes a taint with a key.
func touches(line, key string) bool {
	for rest := line; ; {
		at := strings.Index(rest, key)
		if at < 0 {
			return false
		}
		head, tail := rest[:at], rest[at+len(key):]
		rest = tail
		if next := strings.TrimLeft(tail, "="); next == tail && tail != "" && strings.ContainsAny(tail[:1], "abcdefghijklmnopqrstuvwxyz-/") { // a longer key
			continue
		}
		if cut := strings.LastIndexAny(head, "|;"); cut >= 0 {
			head = head[cut:]
		}
		if tolerates.MatchString(head) || removes.MatchString(head) {
			return true
		}
	}
}

var (
	tolerates = regexp.MustCompile(`(^|[^a-z])(tolerate|add (a|the) toleration|tolerations?:) [^.]*$`)
	removes   = regexp.MustCompile(`(remove|drop|delete) (the )?taints? [^.]*$|kubectl taint [^|]*$|untaint [^.]*$`)
)

// Harms returns the lines of the output of a program that advise to tolerate, remove or set what no advice may. Lines that say what not to do,
// what was left out, and what programs said before, are none. JSON is read by its texts.
func Harms(output string) (out []string) {
	var data any
	if json.Unmarshal([]byte(output), &data) == nil {
		return harmsOf(data, "")
	}
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "Not: ") || strings.HasPrefix(text, "Left out: ") || strings.HasPrefix(text, "# not: ") || strings.HasPrefix(text, "before: ") {
			continue
		}
		if harmful(text) {
			out = append(out, text)
		}
	}
	return out
}

func harmsOf(v any, key string) (out []string) {
	if key == "not" || key == "dropped" || key == "Not" {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		if kind, _ := v["kind"].(string); kind == "Tolerate" || kind == "Untaint" {
			for _, field := range []string{"from", "to"} {
				text, _ := v[field].(string)
				if slices.ContainsFunc(AgentTaints, func(key string) bool { return strings.HasPrefix(text, key+"=") || strings.HasPrefix(text, key+":") }) {
					out = append(out, kind+" "+text)
				}
			}
		}
		for k, x := range v {
			out = append(out, harmsOf(x, k)...)
		}
		slices.Sort(out)
	case []any:
		for _, x := range v {
			out = append(out, harmsOf(x, key)...)
		}
	case string:
		for line := range strings.Lines(v) {
			if harmful(line) {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	return out
}

func harmful(line string) bool {
	for _, m := range factSet.FindAllStringSubmatch(line, -1) {
		if m[len(m)-1] == "" {
			return true
		}
	}
	return slices.ContainsFunc(harms, func(r *regexp.Regexp) bool { return r.MatchString(line) }) ||
		slices.ContainsFunc(AgentTaints, func(key string) bool { return touches(line, key) })
}
