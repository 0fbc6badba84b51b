package real

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// Client is the scheduler's connection to an API server.
func (s *Scheduler) Client() *fake.Clientset { return s.Framework.ClientSet().(*fake.Clientset) }

// ChangeClaim reports to the scheduler that a claim was added (old is nil), changed, or deleted (new is nil).
func (s *Scheduler) ChangeClaim(old, new *resourcev1.ResourceClaim) error {
	i := s.informers["resourceclaims"]
	var err error
	switch {
	case old == nil:
		err = i.GetIndexer().Add(new)
		i.tell(func(h cache.ResourceEventHandler) { h.OnAdd(new, false) })
	case new == nil:
		err = i.GetIndexer().Delete(old)
		i.tell(func(h cache.ResourceEventHandler) { h.OnDelete(old) })
	default:
		err = i.GetIndexer().Update(new)
		i.tell(func(h cache.ResourceEventHandler) { h.OnUpdate(old, new) })
	}
	return err
}
