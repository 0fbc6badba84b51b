package volumes

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/resources"
)

// migrated is a bound volume of an in-tree kind as a node sees the volume when the node's CSINode lists the plugin as
// migrated: the zone of the node is in the label of the driver. For claims that wait to be bound, volumes and classes count
// as written.
type migrated struct {
	kind     *inTree
	required v1.NodeSelector
	affinity *affinity.Selector // compiled of it
	failed   resources.Verdict  // verdict when the driver cannot know the volume, else 0
}

// migrate returns nil for a volume that every node sees as written. An error says that the driver cannot know the volume.
// The first result is valid even then.
func migrate(pv *v1.PersistentVolume) (*migrated, error) {
	kind, _, err := inTreeVolume(pv)
	m := &migrated{kind: kind}
	switch {
	case err != nil:
		return m, fmt.Errorf("could not translate pv: %w", err)
	case kind == nil || kind.zone == "":
		return nil, nil
	}
	terms, changed := kind.terms(pv)
	if !changed {
		return nil, nil
	}
	m.required.NodeSelectorTerms = terms
	m.affinity, _ = affinity.CompileSelector(&m.required)
	return m, nil
}

// migratedOn reports whether the annotation of the node's CSINode lists the plugin.
func (o *Objects) migratedOn(node string, k *inTree) bool {
	csiNode, ok := lookUp(o.CSINodes, "", node)
	if !ok {
		return false
	}
	return k.among(csiNode.Annotations[v1.MigratedPluginsAnnotationKey])
}

// among reports whether an annotation of migrated plugins lists the plugin.
func (k *inTree) among(annotation string) bool {
	for plugin := range strings.SplitSeq(annotation, ",") {
		if plugin == k.plugin {
			return true
		}
	}
	return false
}

// terms returns the node affinity of a volume with the labels of the driver, and reports whether it differs from the
// volume's affinity:
//
//   - Requirements on the zone become requirements on the driver's label.
//   - When no requirement on the zone has values, the volume's zone label adds a requirement to every term.
//   - Requirements on the beta region become requirements on today's region label.
//
// Either today's keys or the beta keys count. The zones in the affinity decide which, or else the volume's labels.
func (k *inTree) terms(pv *v1.PersistentVolume) (terms []v1.NodeSelectorTerm, changed bool) {
	if a := pv.Spec.NodeAffinity; a != nil && a.Required != nil {
		terms = a.Required.NodeSelectorTerms
	}
	zone, region := zoneKey(pv, terms)
	if asks(terms, region) && region != v1.LabelTopologyRegion {
		terms, changed = renamed(terms, region, v1.LabelTopologyRegion), true
	}
	if asks(terms, zone) {
		return renamed(terms, zone, k.zone), true
	}
	zones := zoneList(pv.Labels[zone])
	if len(zones) == 0 {
		return terms, changed
	}
	if len(terms) == 0 {
		terms = []v1.NodeSelectorTerm{{}}
	}
	return added(terms, v1.NodeSelectorRequirement{Key: k.zone, Operator: v1.NodeSelectorOpIn, Values: zones}), true
}

// zoneKey returns the keys by which a volume names its zone and region.
func zoneKey(pv *v1.PersistentVolume, terms []v1.NodeSelectorTerm) (zone, region string) {
	_, today := pv.Labels[v1.LabelTopologyZone]
	_, beta := pv.Labels[v1.LabelFailureDomainBetaZone]
	switch {
	case usesLabel(terms, v1.LabelTopologyZone):
	case usesLabel(terms, v1.LabelFailureDomainBetaZone), beta && !today:
		return v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion
	}
	return v1.LabelTopologyZone, v1.LabelTopologyRegion
}

// usesLabel reports whether a term has a requirement on the label.
func usesLabel(terms []v1.NodeSelectorTerm, key string) bool {
	return contains(terms, func(r v1.NodeSelectorRequirement) bool { return r.Key == key })
}

func asks(terms []v1.NodeSelectorTerm, key string) bool {
	return contains(terms, func(r v1.NodeSelectorRequirement) bool { return r.Key == key && len(r.Values) > 0 })
}

func contains(terms []v1.NodeSelectorTerm, f func(v1.NodeSelectorRequirement) bool) bool {
	return slices.ContainsFunc(terms, func(t v1.NodeSelectorTerm) bool { return slices.ContainsFunc(t.MatchExpressions, f) })
}

// renamed returns the terms with one label replaced by another.
func renamed(terms []v1.NodeSelectorTerm, from, to string) []v1.NodeSelectorTerm {
	out := slices.Clone(terms)
	for i := range out {
		out[i].MatchExpressions = slices.Clone(out[i].MatchExpressions)
		for j := range out[i].MatchExpressions {
			if e := &out[i].MatchExpressions[j]; e.Key == from {
				e.Key = to
			}
		}
	}
	return out
}

// added returns the terms with one requirement added to each.
func added(terms []v1.NodeSelectorTerm, r v1.NodeSelectorRequirement) []v1.NodeSelectorTerm {
	out := slices.Clone(terms)
	for i := range out {
		out[i].MatchExpressions = append(slices.Clone(out[i].MatchExpressions), r)
	}
	return out
}

// zoneList splits a label such as "z1__z2". It leaves out empty elements.
func zoneList(value string) []string {
	var zones []string
	for z := range strings.SplitSeq(value, "__") {
		if z = strings.TrimSpace(z); z != "" {
			zones = append(zones, z)
		}
	}
	return zones
}
