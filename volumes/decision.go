package volumes

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decision says which claims of a pod to bind and which to provision when the pod goes to a node. kube-scheduler writes the
// decision in PreBind. The zero value has no claims.
type Decision struct {
	Node string
	// Bind has the claims that take an existing volume.
	Bind []Match
	// Provision has the claims for which a volume must be provisioned.
	Provision []*v1.PersistentVolumeClaim
}

// Match is a claim and the volume that it takes.
type Match struct {
	Claim  *v1.PersistentVolumeClaim
	Volume *v1.PersistentVolume
}

func (s *bindingState) Bindings(i int) (Decision, bool) {
	e, node := s.binding, s.cluster.Node(i)
	if node == nil {
		return Decision{}, false
	}
	d := Decision{Node: node.Name}
	if e.checkBound(node) != 0 {
		return Decision{}, false
	}
	v, choices := e.checkDelayed(node, nil)
	if v != 0 {
		return Decision{}, false
	}
	for _, c := range choices {
		if c.volume != nil {
			d.Bind = append(d.Bind, Match{c.claim.claim, c.volume.volume})
		} else {
			d.Provision = append(d.Provision, c.claim.claim)
		}
	}
	return d, true
}

// Empty reports whether the decision has no claims.
func (d Decision) Empty() bool { return len(d.Bind) == 0 && len(d.Provision) == 0 }

// Objects returns copies of the volumes and claims as the scheduler writes them: each volume of Bind with the claim in its
// claimRef, and each claim of Provision with the node in its annotation. It leaves out objects that do not change.
func (d Decision) Objects() (volumes []*v1.PersistentVolume, claims []*v1.PersistentVolumeClaim) {
	for _, m := range d.Bind {
		if pv := reserve(m.Volume, m.Claim); pv != m.Volume {
			volumes = append(volumes, pv)
		}
	}
	for _, claim := range d.Provision {
		if c := selectNode(claim, d.Node); c != claim {
			claims = append(claims, c)
		}
	}
	return volumes, claims
}

// reserve returns a copy of the volume with the claim in its claimRef, or the volume itself when nothing changes.
func reserve(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	ref := pv.Spec.ClaimRef
	if ref != nil && refersTo(ref, claim) && ref.UID == claim.UID {
		return pv
	}
	c := pv.DeepCopy()
	if ref == nil {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, annBoundByController, "yes")
	}
	c.Spec.ClaimRef = &v1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		ResourceVersion: claim.ResourceVersion,
	}
	return c
}

// selectNode returns a copy of the claim with the node in its annotation, or the claim itself when nothing changes.
func selectNode(claim *v1.PersistentVolumeClaim, node string) *v1.PersistentVolumeClaim {
	if claim.Annotations[AnnSelectedNode] == node {
		return claim
	}
	c := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, AnnSelectedNode, node)
	return c
}

// room reports whether a capacity object has room for the claim beside the claims that are being provisioned from the
// object: those of the ledger and the earlier claims of this pod.
func (e *bindingFilter) room(c *capacity, d *delayedClaim, earlier []choice) bool {
	if c.object.Capacity == nil {
		return true // the object publishes the largest volume only
	}
	var sum resource.Quantity
	sum.Add(d.request)
	for _, o := range earlier {
		if o.claim.class.Name == d.class.Name {
			sum.Add(o.claim.request)
		}
	}
	if e.objects.ledger != nil {
		e.objects.ledger.addProvisioning(&sum, d, c)
	}
	return sum.Cmp(*c.object.Capacity) <= 0
}
