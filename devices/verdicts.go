package devices

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// DeviceVerdict says whether one device serves one request alone.
type DeviceVerdict struct {
	Device ID
	// Claim is "namespace/name", Request "request" or "request/subrequest".
	Claim, Request string
	// Fails has the tests that the device fails, in the order of the search and in the words of Refusal.Test. It is empty when the
	// device serves the request.
	Fails []string
}

// Verdicts returns what each request and each alternative of firstAvailable, looked at alone, says about each device: requests in the
// order of the search, and for each of them the devices of the usable pools that the node sees, in that order too. The error is that
// of Allocate for a request that cannot be met anywhere, and for a node selector of a slice that cannot be parsed. It costs all tests
// of all devices for each request.
func (s *Search) Verdicts(node *v1.Node) ([]DeviceVerdict, error) {
	v := s.allocator.view(node)
	if v.err != nil {
		return nil, v.err
	}
	s.choices = s.choices[:0]
	clear(s.spent)
	var out []DeviceVerdict
	for k := range s.claims {
		c := &s.claims[k]
		for j := range c.asks {
			for i := range c.asks[j].alternatives {
				r := &c.asks[j].alternatives[i]
				if r.err != nil {
					return nil, r.err
				}
				out = s.appendVerdicts(out, c, r, v)
			}
		}
	}
	return out, nil
}

func (s *Search) appendVerdicts(dst []DeviceVerdict, c *claimAsk, r *request, v *view) []DeviceVerdict {
	for _, p := range v.pools {
		if p.state != complete {
			continue
		}
		for _, d := range p.devices {
			x := DeviceVerdict{Device: d.id, Claim: c.name, Request: r.result()}
			list := s.failures(r, p, d, v.node)
			slices.SortFunc(list, func(a, b failure) int { return cmp.Or(a.step-b.step, strings.Compare(a.text, b.text)) })
			for _, f := range list {
				x.Fails = append(x.Fails, f.text)
			}
			dst = append(dst, x)
		}
	}
	return dst
}
