package taint

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints"
)

// staysTerminating is what the cause of an eviction says when the kubelet is silent.
const staysTerminating = "; stays Terminating while the kubelet is silent"

func (f *forecast) add(e Entry) { f.line.Entries = append(f.line.Entries, e) }

// carry records changes of nodes and zones and passes the changed nodes to the timers.
func (f *forecast) carry(at time.Duration, c lifecycleChanges) {
	entry := func(what, node, cause string) {
		f.add(Entry{At: metav1.Duration{Duration: at}, What: what, Node: node, Cause: cause})
	}
	for _, n := range c.Nodes {
		name := n.Node.Name
		if n.Unknown {
			entry(EntryUnknown, name, unknownMessage)
		}
		if n.NotReady {
			entry(EntryNotReady, name, "its pods get Ready=False")
		}
		for _, t := range n.Removed {
			entry(EntryUntainted, name, t.ToString())
		}
		for _, t := range n.Added {
			entry(EntryTainted, name, t.ToString())
		}
		f.act(at, f.timers.SetNode(n.Node, f.time(at)))
	}
	for _, z := range c.Zones {
		cause := fmt.Sprintf("%v to %v, %v nodes a second", z.From, z.To, z.Rate)
		if z.Halted {
			cause += ", all zones are down"
		}
		f.add(Entry{At: metav1.Duration{Duration: at}, What: EntryZone, Zone: z.Zone, Cause: cause})
	}
}

// act records what happens to pods, and removes deleted pods.
func (f *forecast) act(at time.Duration, actions []Action) {
	for _, a := range actions {
		e := Entry{At: metav1.Duration{Duration: at}, Node: a.Node, Pod: a.Pod.String()}
		until := offset(a.Fire.Sub(f.in.Start))
		switch e.What = a.What; e.What {
		case EntryStarted, EntryMoved:
			e.Until, e.Cause = until, a.Cause.ToString()
		case EntryCancelled:
			e.Until, e.Cause = until, f.whyCancelled(a)
		case EntryEvicted:
			e.Cause = a.Cause.ToString()
			p := f.timers.pods[a.Pod]
			switch {
			case !a.Fire.IsZero():
				e.Cause += ": time is up"
			case p != nil && p.compiled.ToleratesTaint(&a.Cause):
				e.Cause += ": tolerated for no time"
			default:
				e.Cause += ": not tolerated"
			}
			if f.silent[a.Node] {
				e.Cause += staysTerminating
			}
			f.timers.DeletePod(a.Pod, a.At) // no timer runs any more
		}
		f.add(e)
	}
}

// whyCancelled returns why a pod's timer was stopped.
func (f *forecast) whyCancelled(a Action) string {
	list := f.timers.nodes[a.Node]
	var d taints.Deadline
	if p := f.timers.pods[a.Pod]; p != nil {
		d = p.compiled.Deadline(list)
	}
	switch d.Stay {
	case taints.Leave:
		return list[d.Taint].ToString() + " is not tolerated"
	case taints.Limited:
		return "another time takes its place"
	case taints.Forever:
		return "what is left is tolerated without limit"
	}
	return "no NoExecute taint is left"
}
