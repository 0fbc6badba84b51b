package live

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// skewed sends a request about the lease for a process whose clock is wrong by f.skew. The process writes times of its clock, and compares
// the times that it reads with its clock.
func (f *faulty) skewed(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	if r.Body != nil && (r.Method == http.MethodPut || r.Method == http.MethodPost) {
		body, err := moved(r.Body, f.skew)
		if err != nil {
			return nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	answer, err := send()
	if err != nil || answer.StatusCode >= http.StatusMultipleChoices {
		return answer, err
	}
	body, err := moved(answer.Body, -f.skew)
	if err != nil {
		return nil, err
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return answer, nil
}

// moved reads a lease in protobuf and returns it with its times moved.
func moved(from io.ReadCloser, by time.Duration) ([]byte, error) {
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, err
	}
	if err := from.Close(); err != nil {
		return nil, err
	}
	lease := &coordinationv1.Lease{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, lease); err != nil {
		return nil, err
	}
	for _, at := range []*metav1.MicroTime{lease.Spec.AcquireTime, lease.Spec.RenewTime} {
		if at != nil {
			at.Time = at.Add(by)
		}
	}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	var out bytes.Buffer
	err = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(lease, &out)
	return out.Bytes(), err
}
