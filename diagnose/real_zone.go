package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/podinfo"
)

// This file is about labels that state where a node is, and that a node lacks. Advice gives them no value but the true one: what another label or
// the provider ID of the node says. Where nothing says it, a person must know it, and the pod gets a node whatever it is.

// mostZones is the number of known values for which an unknown one is proven.
const mostZones = 8

// places are the labels that state where a node is.
var places = []string{v1.LabelTopologyZone, v1.LabelTopologyRegion}

// zoneOfProvider is the zone in a provider ID: aws:///us-east-1c/i-0abc, gce://project/us-east1-c/name.
var zoneOfProvider = regexp.MustCompile(`^(?:aws:///([a-z0-9-]+)/|gce://[^/]+/([a-z0-9-]+)/)`)

// trueValue returns what a node says elsewhere of where it is, and what says so; "" when nothing does.
func trueValue(n *v1.Node, key string) (value, says string) {
	for old, now := range podinfo.GeneralLabels {
		if v := n.Labels[old]; now == key && v != "" {
			return v, old
		}
	}
	var keys []string
	for k := range n.Labels {
		if !slices.Contains(places, k) { // a region is no zone
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	if meant := near.Key(key, keys); meant != "" && n.Labels[meant] != "" {
		return n.Labels[meant], meant
	}
	if m := zoneOfProvider.FindStringSubmatch(n.Spec.ProviderID); m != nil && key == v1.LabelTopologyZone {
		return m[1] + m[2], "spec.providerID"
	}
	return "", ""
}

// truth adds the change that gives a node without the label of its place the value that it says elsewhere.
func (x *nodeEdits) truth(key string) {
	value, says := trueValue(x.node, key)
	if _, has := x.node.Labels[key]; has || value == "" || !slices.Contains(places, key) || x.labelled[key+"="+value] {
		return
	}
	x.labelled[key+"="+value] = true
	c := x.add(Label, "metadata.labels["+key+"]", "", key+"="+value, func(n *v1.Node) { setLabel(n, key, value) })
	c.key, c.Alike = says, 0 // other nodes are elsewhere
}

// realPlaces is the label of its place on the first open node that lacks it, whatever the value is: it is proven for every known value and
// for a new one.
func (d *diagnosis) realPlaces() (c Change, ok bool) {
	for _, key := range topologyKeys(d.pod) {
		if !slices.Contains(places, key) {
			continue
		}
		at := slices.IndexFunc(d.sought.open, func(i int) bool {
			_, has := d.base.Node(i).Labels[key]
			value, _ := trueValue(d.base.Node(i), key)
			return !has && value == ""
		})
		known := d.values(key, mostZones+1)
		if at < 0 || len(known) > mostZones {
			continue
		}
		name, least := d.base.Node(d.sought.open[at]).Name, -1
		for _, value := range append(known, "another") {
			one := Change{Kind: Label, Object: "Node " + name, Path: "metadata.labels[" + key + "]", key: unknown, make: func(s *cluster.Snapshot, _ *Change) {
				editNode(s, name, func(n *v1.Node) { setLabel(n, key, value) })
			}}
			o := d.prove([]Change{one})
			if o.node == "" {
				least = -1
				break
			}
			if least < 0 || o.run < least {
				c, least = one, o.run
			}
		}
		if least >= 0 {
			return c, true
		}
	}
	return c, false
}

// unknown is what says the value of a label that only a person knows.
const unknown = "a person"

// labelling says how a node gets a label, or loses it.
func (c Change) labelling() string {
	key := strings.TrimSuffix(strings.TrimPrefix(c.Path, "metadata.labels["), "]")
	switch {
	case c.key == unknown:
		return fmt.Sprintf("set %s of %s to its real %s", key, strings.TrimPrefix(c.Object, "Node "), domainWord(key))
	case c.To == "":
		return fmt.Sprintf("%s: remove the label %s", c.Object, c.From)
	case c.key != "":
		return fmt.Sprintf("set %s of %s to %s, as its %s says", key, strings.TrimPrefix(c.Object, "Node "), strings.TrimPrefix(c.To, key+"="), c.key)
	}
	return fmt.Sprintf("%s: label %s", c.Object, c.To)
}
