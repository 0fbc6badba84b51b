package diagnose

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// tried returns the representatives whose changes are tried: as many as Options.Nodes says of nodes that agents keep closed, and as many of
// the others, so that a broken node more takes no place.
func (d *diagnosis) tried(list []representative) (out []representative) {
	n := map[bool]int{}
	for _, r := range list {
		x := d.base.Node(r.slot)
		broken := slices.ContainsFunc(x.Spec.Taints, func(t v1.Taint) bool { return rowOf(x, t).kind == agent })
		if n[broken]++; n[broken] <= d.o.Nodes {
			out = append(out, r)
		}
	}
	return out
}

type representative struct {
	slot, alike int
	short       float64 // of what the pod asks for
	rejects     int
	outside     int // 1 for a node that is not of the pool
}

// representatives returns a node of each kind of rejection that Options.Where wants: kinds of the pool come first, then kinds with the
// fewest filters that reject, then those with the most nodes. A cordon and its taint reject once. Of a kind the node is taken on which
// least is short.
func (d *diagnosis) representatives(verdicts [][]uint32) []representative {
	byKind := map[string]*representative{}
	var kinds []string
	asks := d.requests()
	for _, i := range d.slots {
		if !d.target.has(i) {
			continue
		}
		var b strings.Builder
		r := representative{slot: i, alike: 1, short: d.short(asks, i)}
		for _, v := range verdicts[i] {
			b.WriteString(strconv.Itoa(int(v)))
			b.WriteString(",")
			if v != 0 {
				r.rejects++
			}
		}
		if d.sought != nil && !d.sought.inPool[i] {
			r.outside = 1
		}
		marks := 0
		for _, t := range d.base.Node(i).Spec.Taints {
			if d.keepsOff(t) {
				b.WriteString(t.ToString())
				if rowOf(d.base.Node(i), t).kind == agent { // the same taint may be of a pool elsewhere
					b.WriteString("!")
				}
				if marks++; t.Key != v1.TaintNodeUnschedulable {
					marks++
				}
			}
		}
		if d.base.Node(i).Spec.Unschedulable && marks == 1 {
			r.rejects--
		}
		kind := b.String()
		if old := byKind[kind]; old == nil {
			byKind[kind] = &r
			kinds = append(kinds, kind)
		} else {
			r.alike += old.alike
			if r.short >= old.short {
				r.slot, r.short = old.slot, old.short
			}
			*old = r
		}
	}
	var out []representative
	for _, k := range kinds {
		r := *byKind[k]
		r.alike--
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b representative) int {
		return cmp.Or(cmp.Compare(a.outside, b.outside), cmp.Compare(a.rejects, b.rejects), -cmp.Compare(a.alike, b.alike))
	})
	return out
}
