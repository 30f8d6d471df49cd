// An identity token for whoever is logged in. Needs nothing but Go. Prints one for the external_id that it is given.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

func part(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// identityToken signs the claims of a person; more may have email, phone, and attributes: the names of those that the
// page may write.
func identityToken(externalID, app, kid, secret string, more map[string]any) string {
	claims := map[string]any{"sub": externalID, "aud": app, "exp": time.Now().Unix() + 3600}
	for name, value := range more {
		claims[name] = value
	}
	said := part(map[string]string{"alg": "HS256", "typ": "JWT", "kid": kid}) + "." + part(claims)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(said))
	return said + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func main() {
	more := map[string]any{"email": "ada@example.com", "attributes": []string{"plan"}}
	fmt.Println(identityToken(
		os.Args[1], os.Getenv("ENGAGE_APP"), os.Getenv("IDENTITY_KID"), os.Getenv("IDENTITY_SECRET"), more,
	))
}
