package compare

import (
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/placement"
)

// Profile is one scheduler profile in the words of both sides.
type Profile struct {
	Name     string
	Real     config.KubeSchedulerProfile
	Podberth placement.Profile
}

// Default returns the default profile.
func Default() (Profile, error) {
	p, err := real.DefaultProfile()
	return Profile{Name: "default", Real: p, Podberth: placement.DefaultProfile()}, err
}
