//go:build !k1_34 && !k1_35

package real

import "k8s.io/client-go/tools/cache"

func (registration) HasSyncedChecker() cache.DoneChecker { return registration{} }
func (i *informer) HasSyncedChecker() cache.DoneChecker  { return registration{} }
