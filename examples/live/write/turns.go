package write

import "context"

// A connection to a kube-apiserver takes 100 requests at a time, and every request beyond that opens a connection of its own, with a
// TLS handshake. So bindings and events take turns. With the status patches and 18 watches they fit in one connection.
const bindingTurns, eventTurns = 48, 16

// turns bounds how many requests are under way.
type turns chan struct{}

// take waits for a turn. The caller ends it with end, unless the context ended first.
func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) end() { <-t }
