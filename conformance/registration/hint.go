// Package registration finds what podberth registers for a plugin.
package registration

import (
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// Hint returns the hint that podberth's registrations of a release have for a plugin and a resource, given the plugin's own hint. It
// panics when there is no such registration.
func Hint(v release.Version, plugin, resource string, own queue.Hint) queue.Hint {
	for _, r := range queue.DefaultEvents(map[string]queue.Hint{plugin: own}, v) {
		if r.Plugin == plugin && r.Event.Resource == resource {
			return r.Hint
		}
	}
	panic("podberth registers no " + resource + " for " + plugin)
}
