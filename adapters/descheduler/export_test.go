package descheduler

import (
	"context"
	"errors"
	"time"

	"k8s.io/client-go/tools/cache"
)

// Synced returns when the plugin has seen the first lists.
func (p *Plugin) Synced(ctx context.Context) error {
	for _, synced := range p.follow.synced {
		if !cache.WaitForCacheSync(ctx.Done(), synced) {
			return errors.Join(ctx.Err(), errors.New("the lists do not come"))
		}
	}
	return nil
}

// Later makes the plugin believe that seconds have gone by.
func (p *Plugin) Later(seconds int) {
	now := p.now().Add(time.Duration(seconds) * time.Second)
	p.now = func() time.Time { return now }
}

// Knows reports whether the informers have shown a pod on a node.
func (p *Plugin) Knows(namespace, name string) bool {
	p.follow.mu.Lock()
	defer p.follow.mu.Unlock()
	known := p.follow.snapshot.Pod(namespace, name) != nil
	for _, c := range p.follow.changes {
		if c.obj.GetNamespace() == namespace && c.obj.GetName() == name {
			known = !c.gone
		}
	}
	return known
}
