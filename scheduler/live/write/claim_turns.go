package write

import (
	"context"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimTurns lets one attempt at a time write to a claim. Pods that share a claim would make each other's version old, and all but one of
// them would have to try again.
type claimTurns struct {
	mu    sync.Mutex
	turns map[types.UID]*claimTurn // of claims that somebody writes to or waits for
}

type claimTurn struct {
	free   chan struct{} // has room for the one who writes
	users  int
	newest *resourcev1.ResourceClaim // what the API server answered last; nil: nobody has written
}

// take waits for the turn at a claim. Until release nobody else has it. The error is the cause of the
// end of the context, for which a turn that is free does not wait.
func (c *claimTurns) take(ctx context.Context, claim types.UID) (turn *claimTurn, release func(), err error) {
	c.mu.Lock()
	t := c.turns[claim]
	if t == nil {
		t = &claimTurn{free: make(chan struct{}, 1)}
		if c.turns == nil {
			c.turns = map[types.UID]*claimTurn{}
		}
		c.turns[claim] = t
	}
	t.users++
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(c.turns, claim)
		}
	}
	release = func() { <-t.free; leave() }
	select {
	case t.free <- struct{}{}: // also when the context has ended
		return t, release, nil
	default:
	}
	select {
	case t.free <- struct{}{}:
		return t, release, nil
	case <-ctx.Done():
		leave()
		return nil, nil, context.Cause(ctx)
	}
}
