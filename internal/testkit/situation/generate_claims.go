package situation

import (
	"fmt"

	"github.com/podberth/podberth/internal/testkit"
)

// devices writes devices of nodes, and claims, some of them with an allocation of another driver.
func (g *generator) devices() {
	for _, n := range g.nodes {
		if k := g.Below(4); k > 0 {
			g.add("devices %s:%d", n, k)
		}
	}
	for k := range 1 + g.Below(3) {
		name := fmt.Sprintf("c%d", k)
		text := "claim " + name
		if g.chance(2, "allocated claim") {
			text += " on=" + testkit.Pick(g.Bytes, g.nodes...)
			if who := testkit.Pick(g.Bytes, "", "", "g", "g", "other", "g,other", "gg", "g'"); who != "" {
				g.features["reserved claim"] = true
				text += " for=" + who
			}
		}
		if g.chance(4, "claim of an owner") {
			text += " owner=g"
		}
		g.add("%s", text)
		g.claims = append(g.claims, name)
	}
}

// groupClaims are words of the group's claims, each with the name x and its number.
func (g *generator) groupClaims() (out []string) {
	for k, c := range g.claims {
		switch {
		case g.OneIn(3):
		case g.chance(6, "template of a group"):
			out = append(out, fmt.Sprintf(" template=x%d%s", k, testkit.Pick(g.Bytes, "", "=", "="+c, "="+c)))
		case g.chance(12, "missing claim of a group"):
			out = append(out, fmt.Sprintf(" claim=x%d=none", k))
		default:
			g.features["claim of a group"] = true
			out = append(out, fmt.Sprintf(" claim=x%d=%s", k, c))
		}
	}
	return out
}

// memberClaims are words of a member's claims, some of them under another name than the group's.
func (g *generator) memberClaims() (out string) {
	for k, c := range g.claims {
		switch {
		case g.OneIn(2):
		case g.chance(6, "claim under another name"):
			out += " claim=own=" + c
			return out
		default:
			g.features["claim of a member"] = true
			out += fmt.Sprintf(" claim=x%d=%s", k, c)
		}
	}
	return out
}
