package failures

import (
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/placement"
)

// giveBack returns what v1.37's PostFilter of DynamicResources gives back for a pod that fits on no node.
func (x *player) giveBack(f *placement.Failure) devices.Freed {
	if a := x.placer.Failed(f); a != nil {
		for _, p := range a.Predicates {
			if r, ok := p.(interface{ Freed() devices.Freed }); ok {
				return r.Freed()
			}
		}
	}
	return devices.Freed{Reason: "no new claims to deallocate"}
}

// write writes what PostFilter gave back. The pods that failed are tried again then.
func (x *player) write(r devices.Freed) {
	switch {
	case r.Deallocate != nil:
		x.changes++
		must.Do(x.snapshot.Set(devices.Deallocated(r.Deallocate)))
	case r.Delete != nil:
		x.changes++
		must.Do(x.snapshot.Remove(r.Delete))
	}
}
