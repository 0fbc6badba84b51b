package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/podinfo"
)

// openRule is a rule of open nodes: the plugin, and a part of its reason.
type openRule struct {
	plugin, reason string
	cause          func(x *sought, slots []int, f failure) *Cause
}

// rulesOfOpen returns the rules of open nodes in the order in which one of a node's rules is the cause. Room is last: a node that is full as
// well is no better for more room.
func rulesOfOpen() []openRule {
	return []openRule{
		{ofSpread, missingKey, (*sought).topologyKey},
		{ofPods, "didn't match pod affinity rules", (*sought).affinity},
		{ofPorts, "", (*sought).port},
		{ofLimits, "", (*sought).attachments},
		{ofRestriction, "", (*sought).restriction},
		{ofPods, "didn't match pod anti-affinity rules", (*sought).antiAffinity},
		{ofPods, "existing pods anti-affinity rules", (*sought).existing},
		{ofSpread, "", (*sought).spread},
		{ofBinding, "", (*sought).volume},
		{ofDevices, "", (*sought).devices},
		{ofRoom, "", (*sought).room},
		{"", "", (*sought).other},
	}
}

// missingKey is a part of the reason of a node without a topology key.
const missingKey = "missing required label"

// skewed reports whether a spread constraint rejects one of the open nodes with the fewest failures that has all topology keys: such a
// node is nearer than one without the key.
func (x *sought) skewed(fails map[int][]failure, least int) bool {
	return slices.ContainsFunc(x.open, func(i int) bool {
		return len(fails[i]) == least && slices.ContainsFunc(fails[i], func(f failure) bool { return f.plugin == ofSpread && !strings.Contains(f.reason, missingKey) })
	})
}

// ofOpen returns the cause of a pod that open nodes reject.
func (x *sought) ofOpen(fails map[int][]failure) *Cause {
	if c := x.preempting(); c != nil {
		return c
	}
	least := len(fails[x.open[0]])
	for _, i := range x.open {
		least = min(least, len(fails[i]))
	}
	for _, rule := range rulesOfOpen() {
		var slots []int
		var of failure
		for _, i := range x.open {
			if len(fails[i]) > least {
				continue
			}
			at := slices.IndexFunc(fails[i], func(f failure) bool {
				return (rule.plugin == "" || f.plugin == rule.plugin) && strings.Contains(f.reason, rule.reason)
			})
			if at < 0 {
				continue
			}
			if slots == nil {
				of = fails[i][at]
			}
			slots = append(slots, i)
		}
		if slots == nil || rule.reason == missingKey && x.skewed(fails, least) {
			continue
		}
		out := rule.cause(x, slots, of)
		if out.Nodes == nil {
			out.Nodes = x.namesOf(slots)
		}
		if x.owner.kind == "DaemonSet" && len(x.pool) == 1 {
			out.Text = fmt.Sprintf("it is for %s alone: %s", x.c.Node(x.pool[0]).Name, out.Text)
			if out.Type == causeFull {
				out.Type = causeDaemon
				out.Text += x.onNode(x.pool[0])
			}
		} else if out.Type != causeEmptyDomain { // whose text names the closed nodes
			out.Others = x.others(out.Nodes)
		}
		return out
	}
	return nil
}

// preempting returns the cause of a pod that is nominated to an open node on which pods of lower priority end.
func (x *sought) preempting() *Cause {
	i := x.c.Slot(x.pod.Status.NominatedNodeName)
	if i < 0 || !x.inOpen[i] {
		return nil
	}
	var ending []string
	var last time.Time
	for p := range x.c.Pods(i) {
		if p.DeletionTimestamp != nil && podinfo.Priority(p) < podinfo.Priority(x.pod) {
			ending = append(ending, podinfo.Name(p))
			if p.DeletionTimestamp.After(last) {
				last = p.DeletionTimestamp.UTC()
			}
		}
	}
	if ending == nil {
		return nil
	}
	slices.Sort(ending)
	node := x.c.Node(i).Name
	return &Cause{Type: causePreempting, Object: "Pod " + podinfo.Name(x.pod), Field: "status.nominatedNodeName", Wanted: node, Found: few(ending), Nodes: []string{node},
		Text: fmt.Sprintf("it has %s as soon as %s %s, by %s", node, few(ending), verb(len(ending), "has ended", "have ended"), last.Format(time.RFC3339))}
}

// other returns the cause of a plugin without a sentence of its own.
func (x *sought) other(slots []int, f failure) *Cause {
	return &Cause{Type: causeOther, Text: x.facts(f, slots[0])}
}

func (x *sought) devices(slots []int, f failure) *Cause {
	return x.ofDevicesOn(f, x.nearest(slots))
}

func (x *sought) restriction(slots []int, f failure) *Cause {
	if c := x.taken(); c != nil {
		return c
	}
	return &Cause{Type: causeOther, Field: "spec.volumes", Text: x.facts(f, slots[0])}
}

// attached are the numbers of the plugin that counts volumes: the driver, how many it has attached, how many the pod adds, and the limit.
var attached = regexp.MustCompile(`^(\S+): (\d+) attached and (\d+) more, (\d+) allowed$`)

// limit is how many volumes of a driver a node has, and how many more the pod needs there.
type limit struct {
	slot           int
	driver         string
	attached, more int
}

func (x *sought) attachments(slots []int, f failure) *Cause {
	out := &Cause{Type: causeAttachments, Field: "spec.volumes"}
	out.Text = x.facts(f, slots[0])
	for _, text := range numbers(f, slots[0]) {
		if m := attached.FindStringSubmatch(text); m != nil {
			out.Found = fmt.Sprintf("%s has %s of %s volumes of %s", x.c.Node(slots[0]).Name, m[2], m[4], m[1])
			out.Text = fmt.Sprintf("%s, and it needs %s more", out.Found, m[3])
			x.limit = limit{slot: slots[0], driver: m[1]}
			x.limit.attached, _ = strconv.Atoi(m[2])
			x.limit.more, _ = strconv.Atoi(m[3])
			break
		}
	}
	if n := len(slots); n > 1 {
		out.Text = fmt.Sprintf("%d of %d open nodes have no room for its volumes: %s", n, len(x.open), out.Text)
	}
	return out
}

func (x *sought) volume(slots []int, f failure) *Cause {
	c := x.unbindable(f, slots[0])
	c.Nodes = x.namesOf(slots)
	return c
}

// port returns the cause of a taken host port: who has it on the first nodes.
func (x *sought) port(slots []int, f failure) *Cause {
	var held []string
	port := ""
	for _, i := range slots[:min(mostNamed, len(slots))] {
		for _, text := range numbers(f, i) {
			var by string
			port, by, _ = strings.Cut(text, ": held by ")
			held = append(held, fmt.Sprintf("%s (%s)", x.c.Node(i).Name, by))
		}
	}
	text := fmt.Sprintf("host %s is taken on %s", port, joined(held))
	if more := len(slots) - mostNamed; more > 0 {
		text = fmt.Sprintf("host %s is taken on %s and %d more", port, strings.Join(held, ", "), more)
	}
	if x.pod.Spec.HostNetwork {
		text += "; under hostNetwork every containerPort is a host port"
	}
	return &Cause{Type: causePort, Field: "spec.containers", Wanted: strings.TrimPrefix(port, "port "), Found: joined(held), Text: text}
}

// selects reports whether a selector selects labels. nil selects nothing.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(labels.Set(of))
}

// topologyKey returns the cause of a spread constraint whose key nodes do not have.
func (x *sought) topologyKey(slots []int, f failure) *Cause {
	for k, c := range x.pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			if out := x.keyMissing(slots, c.TopologyKey, fmt.Sprintf("spec.topologySpreadConstraints[%d].topologyKey", k)); out != nil {
				return out
			}
		}
	}
	return &Cause{Type: causeTopologyKey, Field: "spec.topologySpreadConstraints", Text: x.facts(f, slots[0])}
}

// keyMissing returns the cause of a topology key that none of some nodes has, nil when one has it.
func (x *sought) keyMissing(slots []int, key, field string) *Cause {
	have := func(i int) bool { _, ok := x.c.Node(i).Labels[key]; return ok }
	if slices.ContainsFunc(slots, have) {
		return nil
	}
	out := &Cause{Type: causeTopologyKey, Field: field, Wanted: key}
	if slices.ContainsFunc(x.slots, have) {
		names := x.namesOf(slots)
		out.Text = fmt.Sprintf("%s %s no label %s, the topology key of its rule", few(names), verb(len(names), "has", "have"), key)
		return out
	}
	out.Text = fmt.Sprintf("no node has the label %s, the topology key of its rule", key)
	var keys []string
	for _, i := range x.slots {
		for k := range x.c.Node(i).Labels {
			keys = append(keys, k)
		}
	}
	if out.Found = near.Key(key, keys); out.Found != "" {
		out.Text += "; near: " + out.Found
	}
	return out
}
