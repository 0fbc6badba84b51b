package deviceclass_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/internal/deviceclass"
)

func TestPrefix(t *testing.T) {
	require.Equal(t, resourcev1.ResourceDeviceClassPrefix, deviceclass.Prefix)
}
