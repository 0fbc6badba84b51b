package dump

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// Write writes objects as a dump that [Read] reads: as YAML documents, or as a line of JSON each. step is called after each object
// with the number of objects that are written; nil is not called.
func Write(out io.Writer, objects []map[string]any, asJSON bool, step func(done int)) error {
	for k, object := range objects {
		var data []byte
		var err error
		if asJSON {
			data, err = json.Marshal(object)
			data = append(data, '\n')
		} else {
			data, err = yaml.Marshal(object)
			data = append([]byte("---\n"), data...)
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
		if step != nil {
			step(k + 1)
		}
	}
	return nil
}
