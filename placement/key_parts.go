package placement

import (
	"reflect"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/placement/internal/reuse"
)

// keyParts is the key of a plugin in parts. Other plugins have some of these parts too, or a part as their whole key, with the name of
// the part as KeyName.
type keyParts struct {
	whole func(dst []byte, pod *v1.Pod) []byte
	parts []reuse.Part
}

var labelsPart = reuse.Part{Name: "labels", Append: key.Labels}

// of returns the parts of the plugin's key. nil: the key shares no part, or is not the key that has these parts any more.
func (k keyParts) of(p *Plugin) []reuse.Part {
	if p.AppendKey == nil || reflect.ValueOf(p.AppendKey).Pointer() != reflect.ValueOf(k.whole).Pointer() {
		return nil
	}
	return k.parts
}
