# An identity token for whoever is logged in. Needs nothing but Ruby. Prints one for the external_id that it is given.
require "json"
require "openssl"

def part(text)
  [text].pack("m0").tr("+/", "-_").delete("=")
end

# `more` may have email, phone, and attributes: the names of those that the page may write.
def identity_token(external_id, app:, kid:, secret:, **more)
  claims = { sub: external_id, aud: app, exp: Time.now.to_i + 3600, **more }
  said = "#{part({ alg: "HS256", typ: "JWT", kid: kid }.to_json)}.#{part(claims.to_json)}"
  "#{said}.#{part(OpenSSL::HMAC.digest("SHA256", secret, said))}"
end

app, kid, secret = ENV.values_at("ENGAGE_APP", "IDENTITY_KID", "IDENTITY_SECRET")
puts identity_token(ARGV[0], app: app, kid: kid, secret: secret, email: "ada@example.com", attributes: ["plan"])
