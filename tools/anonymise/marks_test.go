package anonymise

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// testdata/stays.txt lists every text field that reaches the output as it is. Each holds a word that the API defines (an effect, a unit),
// or what docs/kubectl.md says stays: resources, devices, drivers and CEL expressions. A field that is not in the list leaves no mark.
func TestNoMarkStays(t *testing.T) {
	o := &dump.Objects{}
	v := reflect.ValueOf(o).Elem()
	marks := map[string]string{}
	for i := range v.NumField() {
		list := v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Pointer {
			continue
		}
		object := reflect.New(list.Type().Elem().Elem())
		kind := object.Elem().Type().Name()
		testkit.SetTexts(object.Interface(), "", func(path, _ string) string {
			if path == "TypeMeta.Kind" || strings.HasSuffix(path, "TypeMeta.APIVersion") {
				return ""
			}
			mark := fmt.Sprintf("mark%dq", len(marks))
			marks[mark] = kind + "." + path
			return mark
		})
		list.Set(reflect.Append(list, object))
	}
	require.Greater(t, len(marks), 2000)
	list, _, err := Objects(o, nil)
	require.NoError(t, err)
	data, err := json.Marshal(list)
	require.NoError(t, err)
	stays := map[string]bool{}
	for _, mark := range regexp.MustCompile(`mark\d+q`).FindAllString(string(data), -1) {
		stays[marks[mark]] = true
	}
	testkit.Golden(t, "testdata/stays.txt", strings.Join(slices.Sorted(maps.Keys(stays)), "\n")+"\n")
}
