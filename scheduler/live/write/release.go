package write

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/podberth/podberth/release"
)

// bindPauses are the pauses between tries of a binding: none up to v1.36, which tries once (rule L9.2).
func (o *Options) bindPauses() []time.Duration {
	if !o.Release.AtLeast(release.V1_37) {
		return nil
	}
	return o.Retry
}

// bindMayPass reports whether v1.37 tries a binding again after the error; nil: it does not.
func bindMayPass(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || utilnet.IsConnectionRefused(err)
}
