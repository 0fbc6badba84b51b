package descheduler

import "time"

// Hold keeps the plugin from seeing what its informers have, until the function that it returns is called.
func (p *Plugin) Hold() (free func()) {
	p.follow.mu.Lock()
	return p.follow.mu.Unlock
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
