package situation

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/internal/testkit"
)

// generator writes situations.
type generator struct {
	*testkit.Bytes
	lines    []string
	zones    bool
	nodes    []string
	claims   []string
	features map[string]bool
}

func (g *generator) add(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

// chance says yes once in n times and notes the feature.
func (g *generator) chance(n int, feature string) bool {
	yes := g.OneIn(n)
	if yes {
		g.features[feature] = true
	}
	return yes
}

// Generate writes a situation of the bytes, and returns its text and its features.
func Generate(data []byte) (string, map[string]bool) {
	g := &generator{Bytes: testkit.NewBytes(data), features: map[string]bool{}}
	gates := testkit.Pick(g.Bytes, "", "", "T", "T", "C", "C", "C")
	if g.chance(6, "policy of the group") {
		gates += "P"
	}
	g.features["gates "+strings.TrimSuffix(gates, "P")] = true
	devices := g.chance(4, "claims")
	if devices && g.chance(2, "claims of groups") {
		gates += "D"
	}
	g.add("gates=%s", gates)
	g.zones = g.OneIn(2)
	for k := range 1 + g.Below(4) {
		name, zone := fmt.Sprintf("n%d", k), ""
		if g.zones && !g.OneIn(6) {
			zone = " zone=" + testkit.Pick(g.Bytes, "a", "b", "a", "b", "c")
		}
		if g.chance(8, "few pods") {
			zone += " pods=2"
		}
		g.add("node %s:%d%s", name, 1+g.Below(4), zone)
		g.nodes = append(g.nodes, name)
	}
	if devices {
		g.devices()
	}
	g.victims()
	g.queued(strings.Contains(gates, "C"), strings.Contains(gates, "P"))
	return strings.Join(g.lines, "\n"), g.features
}

// victims writes what runs already.
func (g *generator) victims() {
	if g.OneIn(4) {
		return
	}
	g.features["running"] = true
	groups := []string{"", "", ""}
	if g.chance(3, "group of mode All") {
		g.add("group low basic ^%d all", 1+g.Below(3))
		groups = append(groups, "low", "low")
	}
	if g.chance(4, "group of mode Single") {
		g.add("group one basic ^%d", 1+g.Below(12))
		groups = append(groups, "one")
	}
	if g.chance(6, "pod of a group without object") {
		groups = append(groups, "gone")
	}
	if g.chance(5, "composite of mode All") {
		g.add("composite big basic ^%d all", 1+g.Below(3))
		g.add("group left basic parent=big")
		g.add("group right basic parent=big")
		groups = append(groups, "left", "right")
	}
	for k := range 1 + g.Below(5) {
		text := fmt.Sprintf("pod v%d:%d on=%s ^%d", k, 1+g.Below(2), testkit.Pick(g.Bytes, g.nodes...), 1+g.Below(4)*g.Below(4))
		if group := testkit.Pick(g.Bytes, groups...); group != "" {
			text += " in=" + group
		}
		if g.chance(4, "labelled victim") {
			text += " label=app=" + testkit.Pick(g.Bytes, "x", "y")
		}
		if g.chance(12, "terminating victim") {
			text += " " + testkit.Pick(g.Bytes, "terminating", "preempted")
		}
		g.add("%s", text)
	}
	if g.chance(3, "budget") {
		g.add("budget b label=app=x allowed=%d", g.Below(2))
	}
}

// queued writes the groups that are decided.
func (g *generator) queued(composites, policies bool) {
	priority := testkit.Pick(g.Bytes, "", " ^10", " ^10", " ^2")
	never, groupNever := "", ""
	if g.chance(10, "never") {
		never = " never"
		if policies && !g.OneIn(4) {
			groupNever = " never"
		}
	}
	member := priority + never
	if g.chance(8, "pod without group") {
		text := fmt.Sprintf("pod s:%d%s", 1+g.Below(3), member)
		if g.chance(8, "nominated pod without group") {
			text += " nominated=" + testkit.Pick(g.Bytes, g.nodes...)
		}
		g.add("%s", text)
		return
	}
	if !composites || g.OneIn(4) {
		g.group("g", "", priority+groupNever, member)
		return
	}
	g.features["tree"] = true
	g.add("composite job %s%s%s%s", g.policy(2), priority, groupNever, g.key())
	parents := []string{"job"}
	if g.chance(3, "three levels") {
		g.add("composite inner %s parent=job%s", g.policy(2), g.key())
		parents = append(parents, "inner")
		g.group("i", " parent=inner", "", member)
	}
	for k := range 1 + g.Below(3) {
		g.group(testkit.Pick(g.Bytes, "x", "y", "z")+fmt.Sprint(k), " parent="+testkit.Pick(g.Bytes, parents...), "", member)
	}
}

func (g *generator) policy(most int) string {
	if g.OneIn(4) {
		return "basic"
	}
	return fmt.Sprintf("gang%d", 1+g.Below(most))
}

func (g *generator) key() string {
	switch {
	case g.zones && g.chance(2, "topology key"):
		return " key=zone"
	case g.chance(10, "empty constraints"):
		return " key="
	}
	return ""
}

func (g *generator) group(name, parent, spec, member string) {
	policy := g.policy(3)
	claims := g.groupClaims()
	g.add("group %s %s%s%s%s%s", name, policy, parent, spec, g.key(), strings.Join(claims, ""))
	if g.chance(5, "scheduled member") {
		g.add("pod %sr:1 in=%s on=%s%s", name, name, testkit.Pick(g.Bytes, g.nodes...), member)
	}
	least := 0
	if parent == "" {
		least = 1
	}
	for k := range max(least, g.Below(4)) {
		text := fmt.Sprintf("pod %s%c:%d in=%s%s", name, 'a'+k, 1+g.Below(3), name, member)
		if g.chance(10, "nominated member") {
			text += " nominated=" + testkit.Pick(g.Bytes, g.nodes...)
		}
		if g.chance(8, "label of a member") {
			text += " label=app=m"
		}
		switch {
		case g.chance(10, "apart"):
			text += " apart=" + testkit.Pick(g.Bytes, "kubernetes.io/hostname", "zone") + "=m"
		case g.chance(12, "with"):
			text += " with=" + testkit.Pick(g.Bytes, "kubernetes.io/hostname", "zone") + "=m"
		case g.chance(12, "spread"):
			text += " spread=" + testkit.Pick(g.Bytes, "kubernetes.io/hostname", "zone") + "=m"
		}
		text += g.memberClaims()
		if g.chance(12, "selector") {
			text += " select=zone=" + testkit.Pick(g.Bytes, "a", "b")
		}
		if g.chance(12, "host port") {
			text += " port=80"
		}
		if g.chance(20, "terminating member") {
			text += " terminating"
		}
		if g.chance(40, "other priority") {
			text += " ^3"
		}
		g.add("%s", text)
	}
}
