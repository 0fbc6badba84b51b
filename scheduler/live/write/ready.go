package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
)

// devicePeriod is how often kube-scheduler looks at the devices of a pod that waits. A claim whose own time is over is seen then.
const devicePeriod = 5 * time.Second

// watched calls a check until it says that the wait is over or returns an error: at once, after each report, after each period, and when a
// timer of the caller sends. The end of the context and of the client end the wait.
func (c *Client) watched(ctx context.Context, over <-chan time.Time, check func(over bool) (bool, error)) error {
	passed := false
	for {
		changed := c.view.Changed()
		if done, err := check(passed); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(checkPeriod):
		case <-over:
			passed = true
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.life.Done():
			return c.life.Err()
		}
	}
}

// claimsReported waits until the scheduler knows the claims that were written and deleted.
func (c *Client) claimsReported(ctx context.Context, written, deleted []*resourcev1.ResourceClaim) error {
	return c.watched(ctx, nil, func(bool) (bool, error) {
		for _, want := range written {
			now, ok := c.view.Reported(deviceClaims, want.Namespace, want.Name).(*resourcev1.ResourceClaim)
			if !ok || now.UID != want.UID || version(now) < version(want) {
				return false, nil
			}
		}
		for _, gone := range deleted {
			if now := c.view.Reported(deviceClaims, gone.Namespace, gone.Name); now != nil && now.GetUID() == gone.UID {
				return false, nil
			}
		}
		return true, nil
	})
}

// devicesReady waits until the devices of claims are ready. It fails as kube-scheduler: when a device has failed, when the limit is
// over, and when a claim was allocated longer ago than the limit. kube-scheduler sees the last at once and every 5 s.
func (c *Client) devicesReady(ctx context.Context, claims []*resourcev1.ResourceClaim, limit time.Duration) error {
	next := time.Now() // when the claims' own time is looked at
	return c.watched(ctx, time.After(limit), func(over bool) (bool, error) {
		look, ready := !time.Now().Before(next), true
		if look {
			next = next.Add(devicePeriod)
		}
		for _, claim := range claims {
			now, ok := c.view.Reported(deviceClaims, claim.Namespace, claim.Name).(*resourcev1.ResourceClaim)
			if !ok || now.UID != claim.UID {
				return false, fmt.Errorf("claim %s/%s got deleted in the meantime", claim.Namespace, claim.Name)
			}
			switch r := devices.BindingReadiness(now, limit, time.Now()); {
			case r.Failed != "":
				return false, errors.New(r.Failed)
			case r.Ready:
			case r.TimedOut && look && !over:
				return false, fmt.Errorf("device binding timeout: claim=%s", claim.Name)
			default:
				ready = false
			}
		}
		if over && !ready {
			return false, fmt.Errorf("device binding timeout: %w", context.DeadlineExceeded)
		}
		return ready, nil
	})
}
