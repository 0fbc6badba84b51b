package tracker

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// owner is a pod as the controller of a claim.
type owner struct {
	namespace, name string
	uid             types.UID
}

// eachOwner yields the controllers of a claim that was made for extended resources; none of another claim.
func eachOwner(c *resourcev1.ResourceClaim, yield func(owner)) {
	if !special(c) {
		return
	}
	for k := range c.OwnerReferences {
		if o := &c.OwnerReferences[k]; o.Controller != nil && *o.Controller {
			yield(owner{c.Namespace, o.Name, o.UID})
		}
	}
}

// own notes that the cluster has a claim that was made for the extended resources of a pod. It ignores other claims.
func (t *Tracker) own(c *resourcev1.ResourceClaim) {
	eachOwner(c, func(o owner) { t.owned[o] = append(t.owned[o], c) })
}

// disown takes back what own has noted for the claim.
func (t *Tracker) disown(c *resourcev1.ResourceClaim) {
	eachOwner(c, func(o owner) {
		list := slices.DeleteFunc(t.owned[o], func(x *resourcev1.ResourceClaim) bool { return x.Name == c.Name })
		if len(list) == 0 {
			delete(t.owned, o)
		} else {
			t.owned[o] = list
		}
	})
}

// ExtendedResourceClaim returns the claim that an earlier attempt has made for the extended resources of a pod; nil when there is
// none. Of several claims the claim whose name comes first counts. Over a cluster with a log of claims it takes O(1), else
// O(claims + slices). The pod must not be nil.
func (t *Tracker) ExtendedResourceClaim(pod *v1.Pod) *resourcev1.ResourceClaim {
	t.follow()
	list := t.owned[owner{pod.Namespace, pod.Name, pod.UID}]
	if len(list) == 0 {
		return nil
	}
	return slices.MinFunc(list, func(a, b *resourcev1.ResourceClaim) int { return strings.Compare(a.Name, b.Name) })
}
